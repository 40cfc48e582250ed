# SPDX-License-Identifier: GPL-2.0-only
# Sourced by what fetches from other suites of Debian: the mirror that apt is configured with, and
# an apt of its own that leaves the machine's alone. Messages of the tools go to a LOG.
attempts=5

# provide LOG COMMAND...: runs the command until it succeeds, since a mirror may fail for a moment.
provide() {
	log=$1
	shift
	: >"$log"
	for attempt in $(seq "$attempts"); do
		"$@" >>"$log" 2>&1 && return
		sleep $((5 * attempt))
	done
	return 1
}

# The mirror of the distribution itself. Cloud images name a file with a list of mirrors instead.
find_mirror() {
	# shellcheck disable=SC2016
	uri=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' |
		sed -n 's,/* Debian$,,p' | head -n 1)
	case $uri in
	mirror+file:*)
		list=${uri#mirror+file:}
		uri=$(sed -n 's,^\([a-z]*://[^[:space:]]*\).*,\1,p' "$list" | head -n 1)
		;;
	esac
	printf '%s\n' "${uri%/}"
}

# expect_mirror WHAT: sets $mirror, or says why there can be no WHAT, and exits.
expect_mirror() {
	mirror=$(find_mirror)
	[ -n "$mirror" ] || {
		echo "apt is configured with no mirror of Debian: $1 cannot be had" >&2
		exit 1
	}
}

# expect_debootstrap WHAT: the same of what debootstrap makes.
expect_debootstrap() {
	[ "$(id -u)" -eq 0 ] || {
		echo "$1 needs root: debootstrap mounts and changes the root" >&2
		exit 1
	}
	expect_mirror "$1"
}

can_get() {
	/usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries="$attempts" \
		download-file "$1" "$2" >>"$3" 2>&1
}

# mirror_of SUITE LOG: old suites move to the archive, which some mirrors have beside the living ones.
# The mirror is in $mirror. Several may be asked for at once: what is fetched lies beside the LOG, of
# which each has its own.
mirror_of() {
	for place in "$mirror" "${mirror%/debian}/debian-archive/debian"; do
		if can_get "$place/dists/$1/Release" "$2.release" "$2"; then
			rm -f "$2.release"
			printf '%s\n' "$place"
			return
		fi
	done
	echo "neither $mirror nor its archive has $1" >>"$2"
	return 1
}

# set_up_apt APT LOG "MIRROR SUITE"...: an apt in the folder APT that knows these suites alone, for
# private_apt. A mirror may be some days behind, which for this is no harm.
set_up_apt() {
	own_apt=$1 own_log=$2
	shift 2
	rm -rf "$own_apt"
	mkdir -p "$own_apt/lists/partial" "$own_apt/cache" "$own_apt/parts"
	for source in "$@"; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $source main"
	done >"$own_apt/sources.list"
	private_apt "$own_apt" apt-get -qq update >>"$own_log" 2>&1
}

# private_apt APT TOOL ARGUMENT...: of this machine's packages, or those of $architecture.
private_apt() {
	own_apt=$1 tool=$2
	shift 2
	"$tool" ${architecture:+-o APT::Architecture="$architecture" -o APT::Architectures="$architecture"} \
		-o Dir::Etc::sourcelist="$own_apt/sources.list" \
		-o Dir::Etc::sourceparts="$own_apt/parts" -o Dir::State="$own_apt" \
		-o Dir::State::status=/dev/null -o Dir::Cache="$own_apt/cache" \
		-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false \
		-o Acquire::Retries="$attempts" -o APT::Sandbox::User=root "$@"
}
