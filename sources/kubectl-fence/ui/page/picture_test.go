package page

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
	"github.com/nodefence/nodefence/test/golden"
)

// TestThePicture draws ../page.svg: the page of a cluster, by what the page itself says of it.
func TestThePicture(t *testing.T) {
	golden.File(t, "../page.svg", draw(NewCluster(pictured(), "", false)))
}

// pictured is a cluster of three zones in which a node is being fenced, another one waits for that,
// and a third has just fallen silent.
func pictured() *Look {
	p := workers()
	limit, at2 := intstr.FromString("40%"), int32(1)
	p.Spec.Limits.MaxUnhealthy, p.Spec.Limits.MaxConcurrent = &limit, &at2
	p.Status.SelectedNodes, p.Status.UnhealthyNodes, p.Status.OpenFences = 18, 3, 2
	l := &Look{User: "alice", Context: "production", Zone: time.UTC, Seen: view.Seen{Now: now, Ledger: &api.FenceLedger{}, Policies: []api.FencePolicy{p}}}
	l.Ledger.Status.Leases = api.LeasePicture{Since: at(-time.Hour), ObservedAt: at(-time.Second), Total: 18}
	for i := range 18 {
		l.Nodes = append(l.Nodes, node(fmt.Sprintf("w-%d", i+1), "zone-"+string(rune('a'+i%3)), corev1.ConditionTrue))
	}
	for _, i := range []int{4, 6, 10} {
		l.Nodes[i].Status.Conditions[0].Status = corev1.ConditionUnknown
	}
	l.Fences = []api.NodeFence{
		fence("w-7", api.Releasing, api.WaitingForRelease, "2 of 9 pods and 1 attachment are left"),
		fence("w-5", api.Pending, api.TooManyConcurrent, "1 of 1 fences is under way: w-7"), fence("w-18", api.Fenced, api.StaysOff, "it stays off until a person switches it on"),
	}
	l.Nodes[17].Status.Conditions[0].Status = corev1.ConditionUnknown
	return l
}

// pen draws: each line of the picture is one call.
type pen struct {
	strings.Builder
	y int
}

func (p *pen) text(x int, class, words string) {
	fmt.Fprintf(p, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, p.y, class, html.EscapeString(words))
}

// state draws a state's shape and word.
func (p *pen) state(x int, s State) {
	fmt.Fprintf(p, "<path transform=\"translate(%d %d) scale(.75)\" class=\"%s\" d=\"%s\"/>\n", x, p.y-10, s.Kind, shapes[s.Kind])
	p.text(x+17, s.Kind+" b", s.Word)
}

func (p *pen) box(class string, x, y, w, h int) {
	fmt.Fprintf(p, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n", class, x, y, w, h)
}

const pictureStyle = `
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}.b{font-weight:600}.h1{font-size:21px;font-weight:700}.h2{font-size:15px;font-weight:700}.n{font-size:17px;font-weight:600}
.ground{fill:#fff;stroke:#d1d9e0}.bar{fill:#f6f8fa;stroke:#d1d9e0}.box{fill:none;stroke:#d1d9e0}.soft{fill:#59636e}.link{fill:#0757ba;font-weight:600}
.failed,.missing{fill:#b3131d}.held,.silent,.unfenceable{fill:#8a4b00}.fencing{fill:#0757ba}.ready{fill:#1a6b31}.fenced,.unwatched{fill:#59636e}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.ground{fill:#0d1117;stroke:#3d444d}.bar{fill:#151b23;stroke:#3d444d}.box{stroke:#3d444d}.soft,.fenced,.unwatched{fill:#a2abb6}.link,.fencing{fill:#79b8ff}
.failed,.missing{fill:#ff8a84}.held,.silent,.unfenceable{fill:#e8b04b}.ready{fill:#6fd384}}
`

// draw draws the page of all nodes.
func draw(c *Cluster) string {
	p := &pen{}
	p.y = 26
	p.text(16, "b", "nodefence")
	for i, name := range []string{"Cluster", "Policies", "History"} {
		p.text(110+72*i, map[bool]string{true: "b", false: ""}[i == 0], name)
	}
	p.text(640, "soft", c.Context+" as "+c.User+"     live, as of "+c.At(c.Now).Text)
	p.y = 76
	p.text(16, "h1", "Cluster")
	x := 16
	for _, n := range c.Counts {
		words := 66 + 8*len(n.State.Word)
		p.box("bar", x, 90, words, 30)
		p.y = 110
		p.text(x+12, "n", fmt.Sprint(n.N))
		p.state(x+40, n.State)
		x += words + 8
	}
	p.y = 152
	p.text(16, "h2", "Needs a look")
	for _, a := range c.Attention {
		p.y += 28
		p.text(28, "link", a.Node)
		p.state(130, a.State)
		p.text(250, "", strings.TrimSpace(string(a.Reason)+"  "+a.Message))
		p.text(760, "soft", c.At(a.Since).Text+"  "+c.At(a.Since).Ago)
		p.box("box", 16, p.y-19, 928, 28)
	}
	p.y += 44
	p.text(16, "h2", "Nodes by zone")
	for _, z := range c.Zones {
		p.zone(z)
	}
	frame := fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 %d\" role=\"img\" aria-label=\"%s\">\n<style>%s</style>\n<rect class=\"ground\" x=\".5\" y=\".5\" width=\"959\" height=\"%d\" rx=\"6\"/>\n<path class=\"bar\" d=\"M.5 41V6.5a6 6 0 0 1 6-6h947a6 6 0 0 1 6 6V41z\"/>\n",
		p.y+32, html.EscapeString("The page of kubectl fence ui. "+c.Saying()), pictureStyle, p.y+31)
	return frame + p.String() + "</svg>\n"
}

// zone draws the tiles of a zone.
func (p *pen) zone(z Zone) {
	p.y += 34
	top := p.y - 20
	p.text(28, "b", z.Name)
	p.text(28+7*len(z.Name)+12, "soft", said(z.Counts))
	p.y += 28
	for i, n := range append(z.Unwell, z.Names...) {
		if i > 0 && i%6 == 0 {
			p.y += 32
		}
		at := 28 + 151*(i%6)
		p.box("box", at, p.y-18, 145, 26)
		fmt.Fprintf(p, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"4\" height=\"26\"/>\n", n.State.Kind, at, p.y-18)
		p.text(at+11, "b", n.Node)
		p.state(at+54, n.State)
	}
	p.box("box", 16, top, 928, p.y-top+16)
	p.y += 16
}
