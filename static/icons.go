package static

import (
	"fmt"
	"strings"
)

// mostNumbered is the largest number that an icon shows; more show it too.
const mostNumbered = 9

func numberedName(n int) string { return fmt.Sprintf("icon-%d.svg", n) }

// numbered is an icon with a number in its corner.
func numbered(icon []byte, n int) []byte {
	badge := fmt.Sprintf(`<circle cx="22" cy="22" r="10" fill="#fbbf24" stroke="#fff" stroke-width="1.5"/>`+
		`<text x="22" y="27.5" text-anchor="middle" font-family="system-ui,sans-serif" font-size="16" font-weight="700" fill="#16181d">%d</text></svg>`, n)
	return []byte(strings.Replace(string(icon), "</svg>", badge, 1))
}

// Icons are the addresses of the icon and of those with a number from 1 up, parted
// by spaces.
func Icons() string {
	urls := []string{Asset("icon.svg")}
	for n := 1; n <= mostNumbered; n++ {
		urls = append(urls, Asset(numberedName(n)))
	}
	return strings.Join(urls, " ")
}
