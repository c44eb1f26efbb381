/* address.c - parses addresses tcp://host:port strictly and resolves them once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define SCHEME "tcp://"

static skn_status_t
not_an_address(const char *text, const char *what, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_CONFIG, "address '%.200s': %s", text, what);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "nodes have addresses such as tcp://10.0.0.1:7001");
}

/* "*" is 0. False: not a port. */
static bool
read_port(const char *text, uint16_t *port)
{
    unsigned number = 0;
    size_t digits = strspn(text, "0123456789");
    *port = 0;
    if (strcmp(text, "*") == 0)
        return true;
    if (digits == 0 || digits > 5 || text[digits])
        return false;
    for (size_t k = 0; k < digits; k++)
        number = number * 10 + (unsigned)(text[k] - '0');
    *port = (uint16_t)number;
    return number <= 65535;
}

/* Letters of DNS names, of numbers, and "*". An interface, a source address
 * ("eth0;host") or blanks are refused. */
static bool
host_good(const char *host, bool has_brackets)
{
    const char *letters = has_brackets
                              ? "0123456789abcdefABCDEF:."
                              : "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (!has_brackets && strcmp(host, "*") == 0)
        return true;
    return host[0] && host[0] != '-' && !host[strspn(host, letters)];
}

skn_status_t
skn_address_read(const char *text, bool any_port, skn_address_t *address,
                 skn_error_t *error)
{
    memset(address, 0, sizeof(*address));
    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0)
        return not_an_address(text, "nodes only connect over " SCHEME, error);
    const char *host = text + strlen(SCHEME);
    const char *colon = strrchr(host, ':');
    if (!colon || strlen(text) >= sizeof(address->text))
        return not_an_address(text, "a host and a port are needed", error);
    size_t bytes = (size_t)(colon - host);
    bool has_brackets = bytes > 2 && host[0] == '[' && host[bytes - 1] == ']';
    (void)memcpy(address->host, host + has_brackets,
                 bytes - (has_brackets ? 2 : 0));
    if (!host_good(address->host, has_brackets))
        return not_an_address(text, "the host is neither a name nor a number",
                              error);
    if (!read_port(colon + 1, &address->port) ||
        (address->port == 0 && !any_port))
        return not_an_address(text, "the port is a number from 1 to 65535",
                              error);
    if (!any_port && strcmp(address->host, "*") == 0)
        return not_an_address(text, "* can be listened at, but not dialled",
                              error);
    (void)snprintf(address->text, sizeof(address->text), "%s", text);
    address->ipv6 = has_brackets;
    return SKN_OK;
}

static bool
on_loopback(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)at;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *six = (const void *)at;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
            six->sin6_addr.s6_addr[12] == 127);
}

skn_status_t
skn_address_resolve(skn_address_t *address, skn_error_t *error)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char number[INET6_ADDRSTRLEN + 1];
    bool any = strcmp(address->host, "*") == 0;
    int code =
        getaddrinfo(any ? "0.0.0.0" : address->host, NULL, &hints, &found);
    if (code != 0)
        return not_an_address(address->text, gai_strerror(code), error);
    address->loopback = true;
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        address->loopback = address->loopback && on_loopback(at->ai_addr);
    address->ipv6 = found->ai_family == AF_INET6;
    code = getnameinfo(found->ai_addr, found->ai_addrlen, number,
                       sizeof(number), NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    if (code != 0)
        return not_an_address(address->text, gai_strerror(code), error);
    (void)snprintf(address->text, sizeof(address->text),
                   address->ipv6 ? SCHEME "[%s]:%u" : SCHEME "%s:%u", number,
                   address->port);
    return SKN_OK;
}

void
skn_address_to_dial(const char *bound, char text[SKN_ADDRESS_BYTES])
{
    static const char any_four[] = SCHEME "0.0.0.0:";
    static const char any_six[] = SCHEME "[::]:";
    const char *port = strrchr(bound, ':') + 1;
    if (strncmp(bound, any_four, strlen(any_four)) == 0)
        (void)snprintf(text, SKN_ADDRESS_BYTES, SCHEME "127.0.0.1:%s", port);
    else if (strncmp(bound, any_six, strlen(any_six)) == 0)
        (void)snprintf(text, SKN_ADDRESS_BYTES, SCHEME "[::1]:%s", port);
    else
        (void)snprintf(text, SKN_ADDRESS_BYTES, "%s", bound);
}
