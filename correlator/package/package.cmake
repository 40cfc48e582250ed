# SPDX-License-Identifier: GPL-2.0-only
# What cmake --install puts where, and Debian's package of it: cmake --build build --target package.
include(GNUInstallDirs)

# Pages of the manual: with the version, and what several have in common.
set(manual ${CMAKE_BINARY_DIR}/manual)
set(sending ${CMAKE_SOURCE_DIR}/correlator/command/manual/sending.mdoc)
file(READ ${sending} SENDING_OPTIONS)
include(${CMAKE_SOURCE_DIR}/correlator/figures/figures.cmake)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sending})
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/correlator/command/manual/*.1
     ${CMAKE_SOURCE_DIR}/correlator/record/*.5 ${CMAKE_SOURCE_DIR}/ruby/*.7)
foreach(page ${pages})
	get_filename_component(name ${page} NAME)
	string(REGEX REPLACE ".*\\." "" section ${name})
	configure_file(${page} ${manual}/${name} @ONLY)
	add_custom_command(
		OUTPUT ${manual}/${name}.gz
		COMMAND gzip -9nkf ${name}
		DEPENDS ${manual}/${name}
		WORKING_DIRECTORY ${manual}
		VERBATIM)
	list(APPEND compressed_pages ${manual}/${name}.gz)
	install(FILES ${manual}/${name}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(manual ALL DEPENDS ${compressed_pages})

install(TARGETS correlator)
install(FILES ${CMAKE_SOURCE_DIR}/correlator/command/completion.bash
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME correlator)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/fixtures/collectors DESTINATION ${CMAKE_INSTALL_DATADIR}/correlator
	PATTERN correlator.service EXCLUDE
	PATTERN record.conf EXCLUDE)
# The administrator's, once it is there.
install(CODE "
	if(NOT EXISTS \"\$ENV{DESTDIR}/etc/correlator/record.conf\")
		file(INSTALL \"${CMAKE_SOURCE_DIR}/fixtures/collectors/record.conf\" DESTINATION /etc/correlator)
	endif()")
# With the place of the binary that it starts, which is known only now.
install(CODE "
	file(READ \"${CMAKE_SOURCE_DIR}/fixtures/collectors/correlator.service\" unit)
	string(REPLACE /usr/local/bin \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\" unit \"\${unit}\")
	file(WRITE \"${CMAKE_BINARY_DIR}/correlator.service\" \"\${unit}\")")
install(FILES ${CMAKE_BINARY_DIR}/correlator.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB documents CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} *.md */README.md correlator/*/README.md
						correlator/*/*/README.md
						fixtures/*/README.md tests/*/README.md correlator/*/*/*.png)
foreach(document ${documents})
	get_filename_component(folder ${document} DIRECTORY)
	install(FILES ${CMAKE_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()

# Debian's file of copyrights, in its format.
file(READ ${CMAKE_SOURCE_DIR}/ruby/LICENSE mit)
string(REGEX REPLACE "^MIT License\n\n([^\n]*)\n\n" "" mit "${mit}")
set(copyright "${CMAKE_MATCH_1}")
string(REGEX REPLACE "^Copyright \\(c\\) " "" copyright "${copyright}")
string(REGEX REPLACE "\n$" "" mit "${mit}")
string(REPLACE "\n\n" "\n.\n" mit "${mit}")
string(REPLACE "\n" "\n " mit "${mit}")
file(WRITE ${CMAKE_BINARY_DIR}/copyright
     "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Correlator

Files: *
Copyright: ${copyright}
License: GPL-2.0-only
 On Debian systems the text of this licence is in /usr/share/common-licenses/GPL-2.

Files: usr/share/correlator/*.gem usr/share/doc/correlator/ruby/*
Copyright: ${copyright}
License: MIT
 ${mit}
")
install(FILES ${CMAKE_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME correlator)
# Whoever gives it to others puts an address there: cpack -D CPACK_DEBIAN_PACKAGE_MAINTAINER=...
set(CPACK_PACKAGE_CONTACT "The Correlator authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, ruby")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "say which request of a Ruby process burned the CPU
Attaches to a running Ruby process with eBPF, without stopping or changing it,
and says for each request how long it was on a CPU, waited for one or was
blocked: exact across fibers, threads and forks.
.
The application has to say which request it works for: the gem for that is
/usr/share/correlator/correlator-*.gem.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Asked before a new version's takes its place, if it was changed.
file(WRITE ${CMAKE_BINARY_DIR}/conffiles "/etc/correlator/record.conf\n")
list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/conffiles)
foreach(script postinst prerm postrm)
	list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/${script})
endforeach()
include(CPack)
