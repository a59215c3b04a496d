# The reverse proxy of docs/serving.md in front of a served volume's page. To be sourced after server.sh.
#
# nginx is taken from the search path. Else Debian's package is unpacked into a cache folder, once: installed, it would
# begin to serve this machine's port 80.

proxy_folder=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/imbrex/nginx

# Says in `nginx` where the program is, or in `why` why there is none.
need_nginx() {
    nginx=$(program nginx) && return
    nginx=$proxy_folder/usr/sbin/nginx
    if ! runs_nginx; then
        echo "$check: fetching nginx"
        fetch_nginx > "$work/nginx" 2>&1 || { why=$(reason "$work/nginx"); return 1; }
        runs_nginx || { why="Debian's nginx does not run on this machine"; return 1; }
    fi
}

runs_nginx() { "$nginx" -v > /dev/null 2>&1; }

fetch_nginx() {
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || { echo "E: nginx is not installed, and this is not Debian"; return 1; }
    mkdir "$work/deb" && cd "$work/deb" || return
    if fetching 120 apt-get -qq -o APT::Sandbox::User=root download nginx; then
        mkdir -p "$proxy_folder" && dpkg-deb -x ./*.deb "$proxy_folder"
    else
        false
    fi
    local status=$?
    cd - > /dev/null && return $status
}

# The configuration that the page shows, but for the places that a check may not use, and the server's own port.
proxy_configuration() {
    cat << END
master_process off;
daemon off;
pid $work/proxy.pid;
error_log $work/proxy.log;
events {}
http {
access_log off;
client_body_temp_path $work/proxy.body;
proxy_temp_path $work/proxy.temp;
fastcgi_temp_path $work/proxy.fastcgi;
uwsgi_temp_path $work/proxy.uwsgi;
scgi_temp_path $work/proxy.scgi;
END
    sed -n '/^server {/,/^}/p' ../../docs/serving.md |
        sed "s|listen 443 ssl|listen unix:$work/proxy.sock ssl|; s|/etc/ssl/disks|$work/proxy|; s|127.0.0.1:8080|127.0.0.1:$1|"
    echo "}"
}

# PATH WHAT: what the proxy answers there contains that.
is_at_proxy() {
    curl --silent --show-error --fail --cacert "$work/proxy.pem" --unix-socket "$work/proxy.sock" "https://disks.example$1" > "$work/answer" 2>&1 ||
        fail "the proxy does not answer at $1: $(tail -n 1 "$work/answer") $(tail -n 1 "$work/proxy.log")"
    grep -q "$2" "$work/answer" || fail "the proxy answers at $1 with something else than '$2'"
}

check_proxy() {
    local proxy
    need_nginx || { skip_part "no reverse proxy is tried: $why"; return; }
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=disks.example -addext subjectAltName=DNS:disks.example -days 2 \
        -keyout "$work/proxy.key" -out "$work/proxy.pem" 2> "$work/openssl" || fail "no certificate can be made: $(tail -n 1 "$work/openssl")"
    format "$1" fifo-log small-zoned 256MiB
    serve "$1" --http 0
    proxy_configuration "$(web_ports "$1")" > "$work/proxy.conf"
    [ "$(grep -c "$work/proxy\.\(sock\|pem\|key\)" "$work/proxy.conf")" = 3 ] || fail "docs/serving.md shows another configuration of nginx than this check knows"
    "$nginx" -p "$work" -c "$work/proxy.conf" -e "$work/proxy.log" > "$work/proxy.said" 2>&1 &
    proxy=$! servers["proxy of $1"]=$!
    until [ -S "$work/proxy.sock" ]; do
        kill -0 $proxy 2> /dev/null || fail "nginx does not take what docs/serving.md shows: $(tail -n 2 "$work/proxy.log")"
        sleep 0.05
    done
    is_at_proxy /disk/ '</html>'
    # What the page asks for.
    is_at_proxy /disk/status.json '"layer":"fifo-log"'
    is_at_proxy /disk/history.json?after=0 '^\['
    is_at_proxy /disk/units.json '^\['
    is_at_proxy /disk/metrics '^imbrex_host_written_bytes_total'
    kill $proxy
    wait $proxy 2> /dev/null || true
    unset "servers[proxy of $1]"
    stop "$1"
    rm "$images/$1.img"
    say "the page and what it asks for are there behind nginx, as docs/serving.md configures it"
}
