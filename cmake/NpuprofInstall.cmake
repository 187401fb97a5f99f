# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

# The SDK: `cmake --install` puts a CANN-shaped tree below its prefix.
#
# The simulated runtime has the names of a vendor's libraries. This rule comes before all others and stops the
# installation into a directory that holds such libraries of somebody else.
install(CODE [[
  file(GLOB present "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib64/lib*.so*")
  foreach(library IN LISTS present)
    if(library MATCHES "/lib(ascendcl|runtime|hccl|msprofiler|profapi|ms_tools_ext|ascend_hal)\\.so")
      # Ours say who made them; a vendor's do not.
      file(STRINGS "${library}" mark REGEX "npuprof|npusim" LIMIT_COUNT 1)
      if(NOT mark)
        message(FATAL_ERROR "${library} is not part of npuprof; an SDK is not installed over a vendor's, choose another directory")
      endif()
    endif()
  endforeach()
  set(command "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/msprof")
  if(EXISTS "${command}")
    file(STRINGS "${command}" mark REGEX "npuprof" LIMIT_COUNT 1)
    if(NOT mark)
      message(FATAL_ERROR "${command} is not part of npuprof; an SDK is not installed over a vendor's, choose another directory")
    endif()
  endif()
]])

# How other builds find the SDK: pkg-config and CMake, both by where their files lie, so that it can be moved.
function(npuprof_install_package_files)
  set(from ${PROJECT_SOURCE_DIR}/packaging/sdk)
  set(made ${PROJECT_BINARY_DIR}/sdk)
  foreach(name aclprof npusim)
    configure_file(${from}/${name}.pc.in ${made}/${name}.pc @ONLY)
    install(FILES ${made}/${name}.pc DESTINATION lib64/pkgconfig)
  endforeach()
  configure_package_config_file(${from}/npuprof-config.cmake.in ${made}/npuprof-config.cmake
                                INSTALL_DESTINATION share/cmake/npuprof)
  # Until 1.0 every minor version may differ.
  write_basic_package_version_file(${made}/npuprof-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/npuprof-config.cmake ${made}/npuprof-config-version.cmake DESTINATION share/cmake/npuprof)
endfunction()

# Called once all targets are known.
function(npuprof_install_sdk)
  foreach(library aclprof msprofiler profapi ms_tools_ext ascendcl runtime hccl)
    if(TARGET ${library})
      set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
      install(TARGETS ${library} LIBRARY DESTINATION lib64)
    endif()
  endforeach()
  # The published names of the profiling library.
  foreach(name msprofiler profapi ms_tools_ext)
    if(TARGET aclprof AND NOT TARGET ${name})
      install(FILES $<TARGET_FILE_DIR:aclprof>/lib${name}.so DESTINATION lib64)
    endif()
  endforeach()
  if(TARGET npuprof)
    install(TARGETS npuprof RUNTIME DESTINATION bin)
  endif()
  # Under the name that frameworks spawn; never over a vendor's, as the rule above sees to.
  if(TARGET msprof)
    install(TARGETS msprof RUNTIME DESTINATION bin)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/sdk/msprof.py
            DESTINATION tools/profiler/profiler_tool/analysis/msprof)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/libprof/include/ ${PROJECT_SOURCE_DIR}/tools/npusim/runtime/include/
          DESTINATION include FILES_MATCHING PATTERN "*.h")
  install(FILES ${PROJECT_SOURCE_DIR}/tools/npusim/include/npusim/npusim.h DESTINATION include/npusim)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/npusim/models/ DESTINATION share/npuprof/models
          FILES_MATCHING PATTERN "*.json")
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/sdk/set_env.sh DESTINATION .)
  npuprof_install_package_files()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/LICENSES DESTINATION share/doc/npuprof)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1")
endfunction()
