package bench

import (
	"strings"

	"scoville/model/random"
)

// Prompt is what one request asks: text, or token ids where the server takes them.
type Prompt struct {
	Text   string
	IDs    []int
	Tokens int // expected length
}

// words are common enough to be one token, or a fixed number of tokens, in most tokenizers.
var words = strings.Fields(`the of and to in is was for on are with they be at one have this from by hot word but what some we can out other were all
there when up use your how said an each she which do their time if will way about many then them write would like so these her long make thing see him
two has look more day could go come did number sound no most people my over know water than call first who may down side been now find any new work
part take get place made live where after back little only round man year came show every good me give our under name very through just form
sentence great think say help low line differ turn cause much mean before move right boy old too same tell does set three want air well also play small
end put home read hand port large spell add even land here must big high such follow act why ask men change went light kind off need house picture try`)

// Prompts makes prompts that no prefix cache has seen: each begins with its own random words or ids.
type Prompts struct {
	can    capabilities
	stream *random.Stream
}

// Make returns a prompt of about tokens tokens; exactly so with token ids.
func (p *Prompts) Make(tokens int) Prompt {
	if p.can.tokenIDs {
		ids := make([]int, max(tokens, 1))
		for i := range ids {
			ids[i] = firstID + p.stream.IntN(idRange)
		}
		return Prompt{IDs: ids, Tokens: len(ids)}
	}
	perWord := p.can.tokensPerWord
	if perWord <= 0 {
		perWord = 1.3
	}
	n := max(int((float64(tokens)-p.can.overhead)/perWord+0.5), 1)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[p.stream.IntN(len(words))])
	}
	return Prompt{Text: b.String(), Tokens: tokens}
}

// Token ids above the special and byte tokens of usual vocabularies and below the size of the smallest.
const (
	firstID = 1000
	idRange = 20000
)
