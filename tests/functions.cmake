# functions.cmake - what the CMakeLists.txt of rooms, tests/ and bench/ call to
# build and register tests.
#
# skn_tests(NAME... BYTES NAME...)      tests/ROOM/test_NAME.c. Those behind
#     BYTES read bytes of others (files, peers, hosts, users), or are the
#     runtime under that: CI runs them with sanitizers, nightly all.
# skn_contracts(NAME... BYTES NAME...)  tests/contracts/contract_NAME.c: one
#     body over many subjects.
# skn_stress(NAME)                      tests/stress/stress_NAME.c with a main()
#     of its own, also for the thread sanitizer, under which Criterion does not
#     start.
# skn_sim(NAME ARGUMENT...)             tests/sim/sim_NAME.c: a false clock and
#     a false network.
# skn_faults(TARGET)                    lets calls of the test fail one by one
#     (support/faults.h).
# skn_script(NAME FILE PROPERTY...)     a script of tests/ or tests/e2e/. LABELS
#     long: kills, soaks and long waits, which `make test-all` and `make
#     nightly` have and `make test` has not. Exit code 77 means skipped. They
#     start before the programs, which are shorter: all cores are busy to the
#     end.
# skn_fuzz(NAME)                        tests/fuzz/fuzz_NAME.c, with clang and
#     -DSKN_FUZZ=ON.
# skn_bench(NAME SOURCE...)             bench/bench_NAME.c, and more sources.
# SPDX-License-Identifier: Apache-2.0
option(SKN_FUZZ "build the fuzz targets (needs clang)" OFF)
set(SKN_CRITERION_RUNS ON)
if(NOT SKN_TESTS OR SKN_FUZZ OR SKN_SANITIZE STREQUAL "thread")
  set(SKN_CRITERION_RUNS OFF)
endif()
if(SKN_FUZZ)
  target_compile_options(skn_flags INTERFACE -fsanitize=fuzzer-no-link)
  add_custom_target(fuzzers)
endif()
set(SKN_OWN_NET ${CMAKE_SOURCE_DIR}/tests/own_net.sh)

# All of the product as one shared object, which tests link: a change of one
# source links it again, and not 200 programs. Static are programs that replace
# functions of it (--wrap), and those that measure it.
set(SKN_STATIC test_resolver test_endpoint_open test_offload test_plan_orders
  test_generator test_cache_place
  contract_coding contract_storage contract_shortage_actors
  contract_shortage_runs contract_shortage_topology contract_shortage_tunnels)
# Tests are not optimised: compilers spend half of a build's time on it (a
# sanitizer's: three quarters), and they run for moments; not so oracles, which
# compute for long.
set(SKN_ORACLES test_kernels test_kernels_gemm test_kernels_normal test_head
  test_pipeline test_decoder_layer contract_kernels)
if(SKN_TESTS)
  enable_testing()
  pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
  find_program(SKN_MOLD mold)
  mark_as_advanced(SKN_MOLD)
  add_custom_target(bytes)
  add_library(skein_test SHARED EXCLUDE_FROM_ALL ${SKN_PARTS}
    $<TARGET_OBJECTS:skn_cli>)
  target_link_libraries(skein_test PRIVATE skn_flags ${SKN_LIBRARIES})
  target_link_options(skein_test PRIVATE -Wl,-Bsymbolic)
  set_target_properties(skein_test PROPERTIES LINKER_LANGUAGE C)
  add_library(skn_host_locale OBJECT tests/support/host_locale.c)
  add_library(skn_few_libraries OBJECT tests/support/few_libraries.c)
  target_link_libraries(skn_few_libraries PRIVATE skn_flags)
  add_library(skn_no_git SHARED tests/support/no_git.c)
  set_target_properties(skn_no_git PROPERTIES OUTPUT_NAME git2 SOVERSION 1.5
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/no_git)
  if(SKN_MOLD)
    target_link_options(skein_test PRIVATE -fuse-ld=mold)
  endif()
  set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
endif()

# KIND_NAME of sources below the top, in build/KIND/.
function(skn_program kind name)
  set(target ${kind}_${name})
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${kind})
  target_link_libraries(${target} PRIVATE skn_flags skn_host_locale)
  if(target IN_LIST SKN_STATIC OR kind MATCHES "^(fault|fuzz|bench|count)$")
    target_link_libraries(${target} PRIVATE skein_static)
  else()
    target_link_libraries(${target} PRIVATE skein_test ${SKN_LIBRARIES})
    target_link_options(${target} PRIVATE -Wl,--as-needed)
  endif()
  if(SKN_MOLD)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
endfunction()

function(skn_criterion kind name source is_bytes)
  skn_program(${kind} ${name} ${source})
  set(target ${kind}_${name})
  target_link_libraries(${target} PRIVATE PkgConfig::CRITERION
    skn_few_libraries)
  add_dependencies(${target} skn_no_git)
  target_link_options(${target} PRIVATE
    -Wl,--disable-new-dtags,-rpath,${CMAKE_BINARY_DIR}/no_git)
  if(NOT target IN_LIST SKN_ORACLES)
    target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE
      $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>) # which guesses there
  endif()
  string(REGEX REPLACE "^test_" "" test ${target})
  add_test(NAME ${test} COMMAND ${SKN_OWN_NET} $<TARGET_FILE:${target}>
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(is_bytes)
    set_tests_properties(${test} PROPERTIES LABELS bytes)
    add_dependencies(bytes ${target})
  endif()
endfunction()

function(skn_criterions kind folder)
  set(is_bytes FALSE)
  foreach(name ${ARGN})
    if(name STREQUAL BYTES)
      set(is_bytes TRUE)
    elseif(SKN_CRITERION_RUNS)
      skn_criterion(${kind} ${name} ${folder}/${kind}_${name}.c ${is_bytes})
    endif()
  endforeach()
endfunction()

macro(skn_tests)
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  skn_criterions(test tests/${room} ${ARGN})
endmacro()

macro(skn_contracts)
  skn_criterions(contract tests/contracts ${ARGN})
endmacro()

set(SKN_WRAPPED malloc calloc realloc free posix_memalign aligned_alloc
  strdup strndup asprintf open_memstream open openat read write pread pwrite
  close mmap fsync ftruncate fstat fstatat mkdir mkdirat unlinkat rename
  renameat renameat2 linkat symlinkat mkostemp flock fallocate
  sync_file_range fopen fdopendir getrandom)
function(skn_faults target)
  if(TARGET ${target})
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/faults.c)
    foreach(name ${SKN_WRAPPED})
      target_link_options(${target} PRIVATE -Wl,--wrap=${name})
    endforeach()
  endif()
endfunction()

function(skn_stress name)
  if(SKN_TESTS AND NOT SKN_FUZZ)
    skn_program(stress ${name} tests/stress/stress_${name}.c)
    add_test(NAME stress_${name}
      COMMAND ${SKN_OWN_NET} $<TARGET_FILE:stress_${name}>
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

function(skn_sim name)
  if(SKN_TESTS AND NOT SKN_FUZZ)
    skn_program(sim ${name} tests/sim/sim_${name}.c)
    add_test(NAME sim_${name} COMMAND sim_${name} ${ARGN})
  endif()
endfunction()

# `skein` with a part of it replaced: fault/fault_NAME.
function(skn_faulty name)
  add_executable(fault_${name} ${CMAKE_SOURCE_DIR}/cli/main.c
    ${CMAKE_SOURCE_DIR}/tests/fault/${name}.c)
  target_link_libraries(fault_${name} PRIVATE skn_flags skn_cli skein_static)
  target_link_options(fault_${name} PRIVATE ${ARGN})
  set_target_properties(fault_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fault)
endfunction()

function(skn_script name file)
  if(SKN_TESTS AND NOT SKN_SANITIZE AND NOT SKN_FUZZ)
    add_test(NAME ${name}
      COMMAND ${SKN_OWN_NET} ${CMAKE_SOURCE_DIR}/${file}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 COST 10
      ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1"
      ${ARGN})
  endif()
endfunction()

function(skn_fuzz name)
  if(SKN_FUZZ)
    skn_program(fuzz ${name} tests/fuzz/fuzz_${name}.c)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzz_${name})
  endif()
endfunction()

function(skn_bench name)
  if(SKN_TESTS AND NOT SKN_SANITIZE AND NOT SKN_FUZZ)
    skn_program(bench ${name} bench/bench_${name}.c ${ARGN})
  endif()
endfunction()
