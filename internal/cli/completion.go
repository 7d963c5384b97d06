package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"rota/internal/admin"
)

// completionCommand is rota completion.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCommand) Run(s *Streams) error {
	_, err := fmt.Fprint(s.Out, completionScripts[c.Shell])
	return err
}

// completionScripts ask rota __complete for what may come next: a word and its
// description in each line, or nothing where a file may come.
var completionScripts = map[string]string{
	"bash": `# source <(rota completion bash)
_rota() {
  local word
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("$word")
  done < <("$1" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _rota rota
`,
	"zsh": `#compdef rota
# source <(rota completion zsh), or save it as _rota in a folder of $fpath
_rota() {
  local -a lines options
  local line
  lines=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    options+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#options )); then
    _describe rota options
  else
    _files
  fi
}
compdef _rota rota
`,
	"fish": `# rota completion fish | source
function __rota_complete
  set -l words (commandline -opc)
  set -l found ($words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c rota -f -a '(__rota_complete)'
`,
}

// completeCommand is rota __complete.
type completeCommand struct {
	Words []string `arg:"" optional:"" help:"The words after rota, the last of them unfinished."`
}

// askTime is how long a shell may have to wait for topics and groups.
const askTime = time.Second

// Run prints what the last word may become.
func (c *completeCommand) Run(ctx context.Context, s *Streams, parser *kong.Kong) error {
	if len(c.Words) == 0 {
		return nil
	}
	w := walk(parser.Model.Node, c.Words[:len(c.Words)-1])
	last := c.Words[len(c.Words)-1]
	for _, o := range w.options(ctx, last) {
		if strings.HasPrefix(o.word, last) {
			fmt.Fprintf(s.Out, "%s\t%s\n", o.word, o.help)
		}
	}
	return nil
}

// option is what may come next.
type option struct{ word, help string }

// walked is where the words before the last one lead.
type walked struct {
	node      *kong.Node
	expects   *kong.Flag // that has no value yet
	arguments int
	brokers   string
}

func walk(node *kong.Node, words []string) walked {
	w := walked{node: node}
	for _, word := range words {
		switch {
		case w.expects != nil:
			if w.expects.Name == "brokers" {
				w.brokers = word
			}
			w.expects = nil
		case strings.HasPrefix(word, "-"):
			name, value, given := strings.Cut(word, "=")
			if f := w.flag(name); f != nil && !f.IsBool() && !f.IsCounter() {
				if !given {
					w.expects = f
				} else if f.Name == "brokers" {
					w.brokers = value
				}
			}
		default:
			if i := slices.IndexFunc(w.node.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 && w.arguments == 0 {
				w.node = w.node.Children[i]
			} else {
				w.arguments++
			}
		}
	}
	return w
}

func (w *walked) flag(name string) *kong.Flag {
	for _, flags := range w.node.AllFlags(false) {
		for _, f := range flags {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// options lists what may come, whatever the last word begins with.
func (w *walked) options(ctx context.Context, last string) []option {
	switch {
	case w.expects != nil:
		return w.values(ctx, w.expects.Value, w.expects.Name)
	case strings.HasPrefix(last, "-"):
		var list []option
		for _, flags := range w.node.AllFlags(true) {
			for _, f := range flags {
				list = append(list, option{"--" + f.Name, f.Help})
			}
		}
		return list
	case len(w.node.Children) > 0:
		var list []option
		for _, child := range w.node.Children {
			if !child.Hidden {
				list = append(list, option{child.Name, child.Help})
			}
		}
		return list
	}
	at := min(w.arguments, len(w.node.Positional)-1)
	if at < 0 {
		return nil
	}
	p := w.node.Positional[at]
	if w.arguments > at && !p.IsSlice() {
		return nil
	}
	return w.values(ctx, p, p.Name)
}

// values are what a flag or an argument may be.
func (w *walked) values(ctx context.Context, v *kong.Value, name string) []option {
	var list []option
	if v.Enum != "" {
		for word := range strings.SplitSeq(v.Enum, ",") {
			list = append(list, option{word, ""})
		}
		return list
	}
	if name != "topic" && name != "group" {
		return nil
	}
	for _, word := range w.ask(ctx, name) {
		if harmless(word) {
			list = append(list, option{word, name})
		}
	}
	return list
}

// ask gets names from the cluster, or nothing if it does not answer at once.
func (w *walked) ask(ctx context.Context, what string) []string {
	brokers := w.brokers
	if brokers == "" {
		brokers = os.Getenv("ROTA_BROKERS")
	}
	if brokers == "" {
		brokers = defaultBrokers
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cluster, err := admin.Open(ctx, admin.Config{Brokers: strings.Split(brokers, ","), Timeout: askTime})
	if err != nil {
		return nil
	}
	defer cluster.Close()
	var names []string
	if what == "topic" {
		topics, _ := cluster.Topics(ctx, false)
		for _, t := range topics {
			names = append(names, t.Name)
		}
		return names
	}
	groups, _ := cluster.Groups(ctx)
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

// harmless is false for names that mean something to a shell: it puts them
// into the command line as they are.
func harmless(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/:@%+,=", r))
	})
}
