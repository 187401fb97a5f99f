# SPDX-License-Identifier: Apache-2.0
# Compile options that every target of the tree shares.

set(NPUPROF_SANITIZE "" CACHE STRING "Sanitizers for the whole tree, e.g. address,undefined or thread")
option(NPUPROF_WERROR "Treat warnings as errors" ON)
# Parts that need libraries which nothing else needs; a cross build can do without them.
option(NPUPROF_PYTHON_PACKAGE "Build the acl package for Python" ON)
option(NPUPROF_DEMO "Build the demonstration in C++, which decodes JPEG images" ON)
option(NPUPROF_BENCHMARKS "Build what ./dev bench runs" ON)

add_library(npuprof_options INTERFACE)
target_compile_options(npuprof_options INTERFACE -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-qual -Wformat=2
                       $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
if(NPUPROF_WERROR)
  target_compile_options(npuprof_options INTERFACE -Werror)
endif()
if(NPUPROF_SANITIZE)
  add_compile_options(-fsanitize=${NPUPROF_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${NPUPROF_SANITIZE})
endif()

# npuprof_test_program(NAME name SOURCES a.cc ... LIBS x ...): a program that tests run; ctest does not know it.
function(npuprof_test_program)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} GTest::gtest Threads::Threads npuprof_options)
  # Tests are compiled often and run briefly: what they test keeps its own optimisation.
  target_compile_options(${T_NAME} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O0 -g1>)
  set_target_properties(${T_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endfunction()

# npuprof_test(NAME name SOURCES a.cc ... LIBS x ... [ALONE]): a GoogleTest binary whose cases ctest runs one by one; with
# ALONE beside no other test.
function(npuprof_test)
  cmake_parse_arguments(T "ALONE" "NAME;TIMEOUT" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  npuprof_test_program(NAME ${T_NAME} SOURCES ${T_SOURCES} LIBS ${T_LIBS} GTest::gtest_main)
  gtest_discover_tests(${T_NAME} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${T_ENVIRONMENT}" RUN_SERIAL ${T_ALONE})
endfunction()
