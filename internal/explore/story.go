package explore

import (
	"fmt"
	"strings"

	"rota/internal/scenario"
)

// Scenario writes the path of a result as a scenario file, with what happens on
// it as package scenario plays it.
func Scenario(spec *Spec, r *Result) string {
	text := script(spec, r)
	file, err := scenario.Parse("path", []byte(text))
	if err != nil {
		return fmt.Sprintf("%s# which cannot be read: %v\n", text, err)
	}
	happened, err := scenario.Run(file, nil)
	if happened != nil {
		text = string(happened.Bytes())
	}
	if err != nil {
		text += fmt.Sprintf("# %s\n", strings.ReplaceAll(err.Error(), "\n", "\n# "))
	}
	return text
}

// script is the file without what happens.
func script(spec *Spec, r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "core-only: found by a search of the world %q\n\n", spec.Name)
	fmt.Fprintf(&b, "# %s\n\n", strings.ReplaceAll(r.Wrong, "\n", "\n# "))
	fmt.Fprintf(&b, "broker group.initial.rebalance.delay.ms=%d core.new.member.timeout.ms=%d", spec.Delay.Milliseconds(), newMemberLife.Milliseconds())
	if spec.MaxSize > 0 {
		fmt.Fprintf(&b, " group.max.size=%d", spec.MaxSize)
	}
	fmt.Fprintf(&b, "\ngroup g session=%s rebalance=%s\n", session, rebalance)
	if spec.SlowLog {
		b.WriteString("hold-append\n")
	}
	w := newWorld(spec)
	for _, a := range r.Path {
		line := w.line(a)
		func() {
			defer func() { _ = recover() }()
			w.do(a)
		}()
		b.WriteString(line + "\n")
	}
	return b.String()
}

// line is an action as a scenario has it, before it is done.
func (w *world) line(a action) string {
	if a.client != nobody {
		return w.clientLine(int(a.client), a.kind)
	}
	due, _ := w.g.Deadline()
	switch a.kind {
	case tick:
		return "+" + (due - w.mono).String()
	case wait:
		return "+" + quantum.String()
	case durable:
		return "release\nhold-append"
	case fail:
		return "fail-append\nhold-append"
	case reload:
		return "reload"
	case late:
		return "late " + (due - w.mono + quantum).String()
	case remove:
		return "Z -> delete"
	default:
		return "expire"
	}
}

func (w *world) clientLine(c int, k kind) string {
	cl, sp := w.clients[c], w.spec.Clients[c]
	who := strings.ToUpper(letter(c))
	inst := ""
	if sp.Static {
		inst = " instance=" + instances[c]
	}
	own := fmt.Sprintf(" member=%s generation=%d", cl.id, cl.gen)
	switch k {
	case joinNew, joinNewLost, restart, joinOwn, joinLost, joinOther, joinStale:
		id := map[kind]string{joinOwn: cl.id, joinLost: cl.id, joinOther: cl.id, joinStale: cl.old}[k]
		if k == joinOther {
			cl.other = !cl.other
		}
		line := fmt.Sprintf("%s -> join v=%d%s", who, sp.Version, inst)
		if id != "" {
			line += " member=" + id
		}
		line += " protocols=" + offerWords(&cl, &sp)
		if k == joinNewLost || k == joinLost {
			line += "\ndisconnect " + who
		}
		return line
	case syncOwn, syncAgain:
		words := []string{who + " -> sync" + own + inst}
		for _, p := range w.plan(c, k) {
			words = append(words, p.MemberID+"="+string(p.Data))
		}
		return strings.Join(words, " ")
	case syncStale:
		return fmt.Sprintf("%s -> sync member=%s generation=%d%s", who, cl.id, cl.gen-1, inst)
	case beatOwn:
		return who + " -> heartbeat" + own + inst
	case beatStale:
		return fmt.Sprintf("%s -> heartbeat member=%s generation=%d%s", who, cl.old, cl.gen, inst)
	case leaveOwn:
		if sp.Static {
			return fmt.Sprintf("%s -> leave %s/%s", who, cl.id, instances[c])
		}
		return who + " -> leave " + cl.id
	case leaveInstance:
		return who + " -> leave /" + instances[c]
	case commitOwn:
		return fmt.Sprintf("%s -> commit%s%s t-0=%d", who, own, inst, w.model.accepted+1)
	case commitStale:
		return fmt.Sprintf("%s -> commit member=%s generation=%d%s t-0=%d", who, cl.id, cl.gen-1, inst, w.model.accepted+1)
	case commitNobody:
		return fmt.Sprintf("%s -> commit t-0=%d", who, w.model.accepted+1)
	case fetch:
		return who + " -> fetch-offsets t-0"
	default:
		return "disconnect " + who
	}
}

func offerWords(cl *client, sp *Client) string {
	names := sp.Protocols
	if len(names) == 0 {
		names = []string{"range"}
	}
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = n
		if cl.other {
			words[i] += ":[t,u]"
		}
	}
	return strings.Join(words, ",")
}
