package pilot

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// gpt decides by the chat completions of OpenAI, which many other providers and
// local servers speak too.
type gpt struct {
	chat   openai.ChatCompletionService
	config config
	tools  []openai.ChatCompletionToolUnionParam
}

func newOpenAI(c config) Decider {
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
	d := gpt{chat: openai.NewChatCompletionService(opts...), config: c}
	for _, t := range tools {
		properties, required := t.schema()
		d.tools = append(d.tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: t.name, Description: openai.String(t.words),
			Parameters: openai.FunctionParameters{"type": "object", "properties": properties, "required": required},
		}))
	}
	return d
}

func (d gpt) Decide(ctx context.Context, v View) (Decision, error) {
	answer, err := d.chat.New(ctx, openai.ChatCompletionNewParams{
		Model: d.config.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage(charter), openai.UserMessage(brief(v)),
		},
		Tools:      d.tools,
		ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")},
	})
	var api *openai.Error
	switch {
	case errors.As(err, &api):
		message := api.Message
		if message == "" {
			message = apiMessage(api.RawJSON())
		}
		return Decision{}, turnedAway(api.StatusCode, message)
	case err != nil:
		return Decision{}, unreachable(err)
	case len(answer.Choices) == 0:
		return Decision{Problem: "its answer was empty", Usage: d.config.usage(answer.Usage.PromptTokens, answer.Usage.CompletionTokens)}, nil
	}
	choice := answer.Choices[0]
	truncated := choice.FinishReason == "length"
	var calls []Decision
	for _, c := range choice.Message.ToolCalls {
		calls = append(calls, decisionOf(c.Function.Name, []byte(c.Function.Arguments), truncated))
	}
	decision := sole(calls, choice.Message.Content)
	switch {
	case choice.Message.Refusal != "" || choice.FinishReason == "content_filter":
		decision = Decision{Thought: choice.Message.Refusal, Problem: "the model refused to answer"}
	case truncated && decision.Tool == "":
		decision.Problem = "its answer was cut off before it called a tool"
	}
	decision.Usage = d.config.usage(answer.Usage.PromptTokens, answer.Usage.CompletionTokens)
	return decision, nil
}

// apiMessage is the message in a provider's error body, of whatever shape.
func apiMessage(raw string) string {
	var body struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(raw), &body) != nil {
		return raw
	}
	if body.Message != "" {
		return body.Message
	}
	var inner struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body.Error, &inner) == nil && inner.Message != "" {
		return inner.Message
	}
	return raw
}
