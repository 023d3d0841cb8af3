package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func completionCommand() *cli.Command {
	write := func(text func(*cli.App) (string, error)) cli.ActionFunc {
		return func(c *cli.Context) error {
			if err := exactArgs(c); err != nil {
				return err
			}
			s, err := text(c.App)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.App.Writer, s)
			return err
		}
	}
	fixed := func(s string) func(*cli.App) (string, error) {
		return func(*cli.App) (string, error) { return s, nil }
	}
	return &cli.Command{
		Name:  "completion",
		Usage: "completion of commands, flags and files for bash, zsh or fish",
		Subcommands: []*cli.Command{
			{Name: "bash", Usage: "script for bash", Description: "   source <(scoville completion bash)", Action: write(fixed(bashCompletion))},
			{Name: "zsh", Usage: "script for zsh", Description: "   source <(scoville completion zsh)", Action: write(fixed(zshCompletion))},
			{Name: "fish", Usage: "script for fish", Description: "   scoville completion fish | source", Action: write((*cli.App).ToFishCompletion)},
		},
	}
}

func manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "the manual page",
		Description: "   scoville man > scoville.1 && man ./scoville.1",
		Action: func(c *cli.Context) error {
			if err := exactArgs(c); err != nil {
				return err
			}
			page, err := c.App.ToManWithSection(1)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.App.Writer, page)
			return err
		},
	}
}

// The program lists what may come next when its last argument is --generate-bash-completion; where it lists nothing, files are offered.
const bashCompletion = `# bash completion of scoville
_scoville() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  if [[ "$cur" == -* ]]; then words+=("$cur"); fi
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _scoville scoville
`

const zshCompletion = `#compdef scoville
_scoville() {
  local -a asked found
  local cur="${words[CURRENT]}"
  asked=("${(@)words[1,CURRENT-1]}")
  if [[ "$cur" == -* ]]; then asked+=("$cur"); fi
  found=("${(@f)$("${(@)asked}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _scoville scoville
`
