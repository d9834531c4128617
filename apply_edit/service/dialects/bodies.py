"""Bodies of requests, as lenient as the clients are varied: unknown fields are let through.

What would change the answer in a way that is not offered is refused by name; what only steers
sampling (temperature, seed, stop, penalties) is accepted and has no effect, because the merged file
is decoded greedily and never cut at a stop string.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from apply_edit.errors import ConfigError
from apply_edit.service.dialects.records import Message

DEFAULT_MODEL = "apply-edit"
_PATH_NAMES = ("path", "filepath", "file_path")
# Fields that are refused, with the values that ask for nothing.
_NOT_OFFERED: dict[str, tuple[object, ...]] = {
    "n": (None, 1),
    "best_of": (None, 1),
    "tools": (None, []),
    "tool_choice": (None, "none", "auto"),
    "functions": (None, []),
    "function_call": (None, "none", "auto"),
    "response_format": (None, {"type": "text"}),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "logit_bias": (None, {}),
    "modalities": (None, ["text"]),
    "audio": (None,),
    "web_search_options": (None,),
    "echo": (None, False),
    "suffix": (None, ""),
}


def _well_formed(text: str) -> str:
    """Refuse half of a surrogate pair: it cannot be told back, and no tokenizer reads it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"half of a surrogate pair at character {error.start}; send well-formed Unicode"
        raise ValueError(message) from None
    return text


Text = Annotated[str, AfterValidator(_well_formed)]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="allow")


class Part(_Lenient):
    """One part of a message."""

    type: Literal["text"] = "text"
    text: Text


def _kind(value: object) -> str:
    return "parts" if isinstance(value, list) else "text"


Content = Annotated[
    Annotated[Text, Tag("text")] | Annotated[list[Part], Tag("parts")], Discriminator(_kind)
]


class MessageBody(_Lenient):
    """One message; only those of the user are read."""

    role: str = "user"
    content: Content | None = None

    def message(self) -> Message:
        """Return it with its parts joined."""
        return Message(self.role, joined(self.content))


class PredictionBody(_Lenient):
    """The predicted answer, which is the file as it is; some clients send no type."""

    type: Literal["content"] = "content"
    content: Content


class StreamOptions(_Lenient):
    """What a stream tells beside the text."""

    include_usage: bool | None = None


class _Completion(_Lenient):
    model: Text | None = Field(DEFAULT_MODEL, description="Any name; it is told back.")
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    prediction: PredictionBody | None = None
    metadata: dict[str, Any] | None = Field(
        None, description="`path` tells the language of the file; no file is opened."
    )

    @property
    def limit(self) -> int | None:
        """Most tokens of the answer, None without a limit."""
        return self.max_tokens

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def predicted(self) -> str | None:
        """The text of the prediction."""
        return None if self.prediction is None else joined(self.prediction.content)

    @property
    def path(self) -> str | None:
        """The path of the file that the metadata has, None without one."""
        values = (self.metadata or {}).get
        return next((v for v in map(values, _PATH_NAMES) if isinstance(v, str) and v), None)

    def require_offered(self) -> None:
        """Refuse what is not offered.

        Raises:
            ConfigError: The request asks for it; the field is named.
        """
        for name, value in (self.model_extra or {}).items():
            if name in _NOT_OFFERED and value not in _NOT_OFFERED[name]:
                message = f"{name} is not offered: the answer is one merged file, as text"
                raise ConfigError(message, option=name)


class ChatBody(_Completion):
    """A chat completion."""

    messages: list[MessageBody] = Field(min_length=1)
    max_completion_tokens: int | None = Field(None, ge=1)

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "model": "apply-edit",
                "messages": [
                    {
                        "role": "user",
                        "content": "<code>a = 1\nb = 2\n</code>\n"
                        "<update>@@ -1,2 +1,2 @@\n-a = 1\n+a = 3\n b = 2\n</update>",
                    }
                ],
            }
        },
    )

    @property
    def limit(self) -> int | None:
        """Most tokens of the answer, None without a limit."""
        return self.max_completion_tokens or self.max_tokens


class CompletionBody(_Completion):
    """A text completion; the prompt is what a user message would be."""

    prompt: Text | list[Text]

    def message(self) -> Message:
        """Return the prompt as a message.

        Raises:
            ConfigError: There is not exactly one.
        """
        prompts = [self.prompt] if isinstance(self.prompt, str) else self.prompt
        if len(prompts) != 1:
            message = f"prompt holds {len(prompts)} prompts; send one"
            raise ConfigError(message, option="prompt")
        return Message("user", prompts[0])


class RelaceBody(_Lenient):
    """Relace's apply request, in both spellings that are in use."""

    initial_code: Text | None = None
    initial_code_camel: Text | None = Field(None, alias="initialCode")
    edit_snippet: Text | None = None
    edit_snippet_camel: Text | None = Field(None, alias="editSnippet")
    instruction: Text | None = None
    instructions: Text | None = None
    model: Text | None = None
    stream: bool | None = False

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "initial_code": "a = 1\nb = 2\n",
                "edit_snippet": "@@ -1,2 +1,2 @@\n-a = 1\n+a = 3\n b = 2\n",
            }
        },
    )

    def require_offered(self) -> None:
        """Refuse a stream, which this route does not have.

        Raises:
            ConfigError: It is asked for.
        """
        if self.stream:
            message = "stream is not offered here; POST /v1/apply/chat/completions streams"
            raise ConfigError(message, option="stream")


def joined(content: str | list[Part] | None) -> str:
    """Return the text of a content, its parts joined with nothing between them."""
    if isinstance(content, list):
        return "".join(part.text for part in content)
    return content or ""
