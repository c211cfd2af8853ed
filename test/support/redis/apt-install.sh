# Installs redis-server from the distribution, as root, without starting its service.
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d

# The package's script asks this file whether to start the service; 101 means no.
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

# One repository of several may be out of reach while the one that matters is not.
apt-get update -qq || echo 'apt-get update failed; trying to install all the same' >&2
apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 redis-server
