package bench

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Target is a server's address, taken apart.
type Target struct {
	Base string // ends in the path under which /models, /completions and /chat/completions stand
	Root string // without the version path
	Path string // "/completions" or "/chat/completions" when the address names one; empty: to be found out
}

// ParseTarget reads a server's address: its root, its /v1, or one endpoint. It refuses a host that isn't this machine unless remote is true:
// a load test can hurt a server and cost money.
func ParseTarget(address string, remote bool) (Target, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return Target{}, fmt.Errorf("the server's address can't be read: it must look like http://localhost:8000")
	}
	if u.User != nil || u.RawQuery != "" {
		return Target{}, fmt.Errorf("the server's address holds credentials or a query; give a key by the environment only")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Target{}, fmt.Errorf("server address %q: must begin with http:// or https:// and name a host", address)
	}
	if !remote && !loopback(u.Hostname()) {
		return Target{}, fmt.Errorf("%s is not this machine: a load test can hurt a server and cost money; add --i-may-load-this-server if you may", u.Hostname())
	}
	path := strings.TrimRight(u.Path, "/")
	t := Target{}
	for _, p := range []string{"/chat/completions", "/completions"} {
		if rest, ok := strings.CutSuffix(path, p); ok {
			path, t.Path = rest, p
			break
		}
	}
	if path == "" {
		path = "/v1"
	}
	t.Base = u.Scheme + "://" + u.Host + path
	t.Root = u.Scheme + "://" + u.Host + strings.TrimSuffix(path, "/v1")
	return t, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
