package bench

import (
	"context"
	"fmt"
	"strings"

	"scoville/hardware/results"
	"scoville/model/random"
)

// Server is what the probe found out.
type Server struct {
	Model, Engine, EngineVersion, Endpoint string
	MaxLength                              int
	TokenIDs, IgnoreEOS, Usage             bool
	TokensPerWord                          float64
	Notes                                  []string
}

// Probe finds the model, the endpoint and what the server takes, with a handful of tiny requests. They count against the budget.
func (c *Client) Probe(ctx context.Context, budget *Budget) (*Server, error) {
	s := &Server{}
	c.identify(ctx, s)
	if err := c.negotiate(ctx, budget, s); err != nil {
		return nil, err
	}
	if err := c.measureWords(ctx, budget, s); err != nil {
		return nil, err
	}
	s.Model, s.Endpoint, s.MaxLength = c.model, strings.TrimPrefix(c.path(), "/"), c.can.maxLength
	s.TokenIDs, s.IgnoreEOS, s.Usage, s.TokensPerWord = c.can.tokenIDs, c.can.ignoreEOS, c.can.usage, c.can.tokensPerWord
	if !c.can.usage {
		s.Notes = append(s.Notes, "the server sends no usage: output tokens are counted as chunks, input tokens are estimates")
	}
	if !c.can.ignoreEOS {
		s.Notes = append(s.Notes, "the server doesn't take ignore_eos: answers may be shorter than asked for")
	}
	return s, nil
}

// identify asks for the model list and for the version; servers without them are fine.
func (c *Client) identify(ctx context.Context, s *Server) {
	var models struct {
		Data []struct {
			ID        string `json:"id"`
			OwnedBy   string `json:"owned_by"`
			MaxLength int    `json:"max_model_len"`
			Meta      struct {
				Context int `json:"n_ctx_train"`
			} `json:"meta"`
		} `json:"data"`
	}
	if c.get(ctx, c.target.Base+"/models", &models) == nil {
		for i, m := range models.Data {
			if m.ID == c.model || c.model == "" && i == 0 {
				c.model, s.Engine, c.can.maxLength = m.ID, m.OwnedBy, max(m.MaxLength, m.Meta.Context)
				break
			}
		}
	}
	var version struct {
		Version string `json:"version"`
	}
	if c.get(ctx, c.target.Root+"/version", &version) == nil {
		s.EngineVersion = c.redact(version.Version)
	}
}

// negotiate tries the fullest request first and drops what the server refuses.
func (c *Client) negotiate(ctx context.Context, budget *Budget, s *Server) error {
	full := capabilities{usage: true, continuousUsage: true, ignoreEOS: true, maxTokens: true, maxCompletionTokens: true, maxLength: c.can.maxLength}
	var variants []capabilities
	for _, drop := range []func(*capabilities){
		func(*capabilities) {},
		func(v *capabilities) { v.continuousUsage = false },
		func(v *capabilities) { v.continuousUsage, v.maxCompletionTokens = false, false },
		func(v *capabilities) { v.continuousUsage, v.maxTokens = false, false },
		func(v *capabilities) { v.continuousUsage, v.maxCompletionTokens, v.ignoreEOS = false, false, false },
		func(v *capabilities) { v.continuousUsage, v.maxTokens, v.ignoreEOS = false, false, false },
		func(v *capabilities) {
			v.continuousUsage, v.maxCompletionTokens, v.ignoreEOS, v.usage = false, false, false, false
		},
		func(v *capabilities) {
			v.continuousUsage, v.maxTokens, v.ignoreEOS, v.usage = false, false, false, false
		},
	} {
		v := full
		drop(&v)
		variants = append(variants, v)
	}
	paths := []bool{false, true}
	switch c.target.Path {
	case "/completions":
		paths = []bool{false}
	case "/chat/completions":
		paths = []bool{true}
	}
	var last *results.Failure
	for _, chat := range paths {
		for _, v := range variants {
			v.chat = chat
			c.can = v
			r, err := c.tiny(ctx, budget, c.text(4), 4)
			if err != nil {
				return err
			}
			if r.Error == nil && r.OutputTokens > 0 {
				c.can.usage = r.TokenCount == results.CountServer
				if c.can.ignoreEOS && r.OutputTokens < 4 {
					c.can.ignoreEOS = false
				}
				if r.OutputTokens > 4 {
					return fmt.Errorf("the server generated %d tokens where 4 were asked for: it ignores max_tokens, so a run couldn't be bounded", r.OutputTokens)
				}
				return c.tryIDs(ctx, budget)
			}
			if last = r.Error; last == nil {
				last = &results.Failure{Phase: "output", Message: "the stream held no token"}
			}
			if last.HTTP == 404 || last.HTTP == 405 || last.HTTP == 0 && last.Phase == "connect" {
				break
			}
			if last.HTTP == 401 || last.HTTP == 403 {
				return fmt.Errorf("%s%s: HTTP %d: the server wants a key; set the environment variable named by --api-key-env", c.target.Base, c.path(), last.HTTP)
			}
		}
		if last != nil && last.Phase == "connect" {
			break
		}
	}
	return fmt.Errorf("%s: no answer to a request for 4 tokens: %s", c.target.Base, describe(last))
}

func describe(f *results.Failure) string {
	if f == nil {
		return "no variant of the request was tried"
	}
	s := f.Phase
	if f.HTTP > 0 {
		s += fmt.Sprintf(", HTTP %d", f.HTTP)
	}
	return strings.TrimSuffix(s+": "+f.Message, ": ")
}

func (c *Client) text(tokens int) Prompt {
	p := Prompts{can: capabilities{tokensPerWord: 1}, stream: random.New(uint64(tokens), 0, "probe")}
	return p.Make(tokens)
}

func (c *Client) tiny(ctx context.Context, budget *Budget, p Prompt, output int) (*results.Record, error) {
	if err := budget.Take(p.Tokens, output); err != nil {
		return nil, err
	}
	r := &results.Record{}
	c.Do(ctx, p, output, false, r, nil)
	return r, ctx.Err()
}

// tryIDs sends a prompt as token ids and believes it worked only if the server counts as many.
func (c *Client) tryIDs(ctx context.Context, budget *Budget) error {
	if c.can.chat || !c.can.usage {
		return nil
	}
	p := Prompts{can: capabilities{tokenIDs: true}, stream: random.New(1, 0, "probe ids")}
	prompt := p.Make(50)
	r, err := c.tiny(ctx, budget, prompt, 1)
	if err != nil {
		return err
	}
	c.can.tokenIDs = r.Error == nil && r.InputTokens == 50
	return nil
}

// measureWords finds tokens per word and the tokens a chat template adds, from two prompts.
func (c *Client) measureWords(ctx context.Context, budget *Budget, s *Server) error {
	if c.can.tokenIDs || !c.can.usage {
		return nil
	}
	const short, long = 40, 140
	a, err := c.tiny(ctx, budget, c.text(short), 1)
	if err != nil {
		return err
	}
	b, err := c.tiny(ctx, budget, c.text(long), 1)
	if err != nil {
		return err
	}
	if a.Error != nil || b.Error != nil || b.InputTokens <= a.InputTokens {
		s.Notes = append(s.Notes, "prompt lengths couldn't be measured; they are taken as 1.3 tokens a word")
		return nil
	}
	c.can.tokensPerWord = float64(b.InputTokens-a.InputTokens) / (long - short)
	c.can.overhead = max(0, float64(a.InputTokens)-short*c.can.tokensPerWord)
	return nil
}
