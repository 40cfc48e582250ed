# SPDX-License-Identifier: GPL-2.0-only
# Sourced by what starts from a Debian 12 of nothing but its minimal base and ip: FOLDER/base.tar, from
# the mirror that apt is configured with, signatures checked, kept for two weeks. Whoever sources it has
# set $here, $folder and $log.
. "$here/../mirror.sh"

kept_days=14
suite=bookworm
base=$folder/base.tar

make_base() {
	rm -rf --one-file-system "$base.root"
	place=$(mirror_of "$suite" "$log") || return 1
	unshare --mount --propagation private debootstrap --variant=minbase --force-check-gpg \
		--include=iproute2 "$suite" "$base.root" "$place" || return 1
	# It is thrown away if anything fails, so nothing has to reach the disk, and starts no service.
	echo force-unsafe-io >"$base.root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	printf '#!/bin/sh\nexit 101\n' >"$base.root/usr/sbin/policy-rc.d"
	chmod +x "$base.root/usr/sbin/policy-rc.d"
	tar -C "$base.root" --numeric-owner -cf "$base.part" . || return 1
	rm -rf --one-file-system "$base.root"
	mv "$base.part" "$base"
}

# unpack_base ROOT: the base anew. A mirror may fail for a moment.
unpack_base() {
	(
		flock 8
		find "$folder" -maxdepth 1 -name base.tar -mtime "+$kept_days" -delete
		for attempt in $(seq "$attempts"); do
			[ ! -f "$base" ] || exit 0
			make_base && exit 0
			sleep $((5 * attempt))
		done
		exit 1
	) 8>"$folder/base.lock" || return 1
	rm -rf --one-file-system "$1"
	mkdir "$1"
	tar -C "$1" --numeric-owner -xf "$base"
}

# The files that git knows, and new ones: the same for the same contents.
pack_tree() {
	cd "$here/../.."
	git -c safe.directory="*" ls-files -z -co --exclude-standard |
		tar -c --null --files-from=- --ignore-failed-read --owner=0 --group=0 --mtime=@0
}

# unpack_tree TAR ROOT: to /correlator there.
unpack_tree() {
	rm -rf "$2/correlator"
	mkdir "$2/correlator"
	tar -C "$2/correlator" -xf "$1"
}
