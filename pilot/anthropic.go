package pilot

import (
	"context"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// claude decides by Anthropic's Messages API.
type claude struct {
	messages anthropic.MessageService
	config   config
	tools    []anthropic.ToolUnionParam
}

func newAnthropic(c config) Decider {
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), // and nothing else of the environment
		option.WithMaxRetries(askRetries), option.WithRequestTimeout(askWait),
	}
	if c.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(c.BaseURL))
	}
	if c.Key != "" {
		opts = append(opts, option.WithAPIKey(c.Key))
	}
	d := claude{messages: anthropic.NewMessageService(opts...), config: c}
	for _, t := range tools {
		properties, required := t.schema()
		d.tools = append(d.tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.name, Description: anthropic.String(t.words),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: properties, Required: required},
		}})
	}
	return d
}

func (d claude) Decide(ctx context.Context, v View) (Decision, error) {
	m, err := d.messages.New(ctx, anthropic.MessageNewParams{
		Model: anthropic.Model(d.config.Model), MaxTokens: askTokens,
		System:     []anthropic.TextBlockParam{{Text: charter}},
		Messages:   []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(brief(v)))},
		Tools:      d.tools,
		ToolChoice: anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: anthropic.Bool(true)}},
	})
	var api *anthropic.Error
	switch {
	case errors.As(err, &api):
		return Decision{}, turnedAway(api.StatusCode, apiMessage(api.RawJSON()))
	case err != nil:
		return Decision{}, unreachable(err)
	}
	truncated := m.StopReason == anthropic.StopReasonMaxTokens || m.StopReason == anthropic.StopReasonModelContextWindowExceeded
	var calls []Decision
	var prose []string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			prose = append(prose, b.Text)
		case "tool_use":
			calls = append(calls, decisionOf(b.Name, b.Input, truncated))
		}
	}
	decision := sole(calls, strings.Join(prose, "\n"))
	if m.StopReason == anthropic.StopReasonRefusal {
		decision = Decision{Thought: decision.Thought, Problem: "the model refused to answer"}
	} else if truncated && decision.Tool == "" {
		decision.Problem = "its answer was cut off before it called a tool"
	}
	decision.Usage = d.config.usage(m.Usage.InputTokens+m.Usage.CacheReadInputTokens+m.Usage.CacheCreationInputTokens, m.Usage.OutputTokens)
	return decision, nil
}
