"""Settings of the service: flags over environment over a TOML file, everything else refused."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ByteSize,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from apply_edit.config import DEFAULT_TARGET, DraftDtype
from apply_edit.errors import ConfigError
from apply_edit.service.security import is_loopback

PREFIX = "APPLY_EDIT_"
# Where the flag is not called like the setting.
_FLAGS = {"allowed_hosts": "--allow-host", "allowed_origins": "--allow-origin"}


def _words(value: object) -> object:
    """Split what an environment variable holds at its commas."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]


class Settings(BaseSettings):
    """What the service is told at its start; ``load`` says from where."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8417, ge=0, le=65535, description="TCP port; 0 takes a free one.")
    uds: Path | None = Field(None, description="Unix socket to listen on, instead of a port.")
    token: SecretStr | None = Field(
        None, min_length=1, description="Bearer token that requests must bring."
    )
    target: str = Field(DEFAULT_TARGET, description="Name, folder, GGUF or hub id of the target.")
    device: str = Field("auto", description="auto, cpu, cuda or cuda:N.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    draft: str | None = Field(None, description="Draft model of the target's tokenizer.")
    draft_dtype: DraftDtype = "auto"
    preload: bool = Field(True, description="Load the target at once, not at the first need.")
    max_concurrency: int = Field(4, ge=1, le=256, description="Applies in the target's batch.")
    max_queue: int = Field(32, ge=0, le=4096, description="Applies that may wait.")
    text_threads: int = Field(4, ge=1, le=64, description="Edits merged without a model at once.")
    max_batch: int = Field(64, ge=1, le=1024, description="Items of one call of /v1/batch.")
    max_body_bytes: ByteSize = Field(ByteSize(32 << 20), gt=0, description="Largest body.")
    prefix_cache_bytes: ByteSize = Field(
        ByteSize(1 << 30), ge=0, description="Memory for prefixes of files seen before."
    )
    deadline_s: float = Field(
        600.0, gt=0, allow_inf_nan=False, description="Most seconds for an apply."
    )
    stuck_after_s: float = Field(
        120.0, gt=0, allow_inf_nan=False, description="Unhealthy when no pass ends for so long."
    )
    keep_alive_s: float = Field(
        5.0, gt=0, allow_inf_nan=False, description="Seconds between comments of a quiet stream."
    )
    allowed_hosts: Words = Field((), description="Host names beside loopback ones; * is any.")
    allowed_origins: Words = Field((), description="Web origins beside loopback ones.")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "json"
    telemetry: bool = Field(
        False, description="Export OpenTelemetry spans and metrics, as OTEL_* variables say."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.uds is not None and self.model_fields_set & {"host", "port"}:
            message = "give either uds, or host and port"
            raise ValueError(message)
        if self.uds is None and self.token is None and not is_loopback(self.host):
            message = (
                f"host {self.host} can be reached from other machines, and without a token anyone "
                "there could use the service; set a token, or listen on 127.0.0.1"
            )
            raise ValueError(message)
        return self

    @property
    def token_text(self) -> str | None:
        """The token, None where none is needed."""
        return None if self.token is None else self.token.get_secret_value()


def load(flags: Mapping[str, Any], file: Path | None = None) -> Settings:
    """Collect the settings: flags, then ``APPLY_EDIT_*`` variables, then the file.

    Args:
        flags: What was given on the command line, by name.
        file: TOML file, None for none.

    Raises:
        ConfigError: A key is unknown, a value impossible, or the file cannot be read.
    """
    if file is not None:
        _require_toml(file)

    class Layered(Settings):
        model_config = SettingsConfigDict(toml_file=file)

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            del dotenv_settings, file_secret_settings
            return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    try:
        return Layered(**flags)
    except ValidationError as error:
        raise _refusal(error, flags, file) from None


def _require_toml(file: Path) -> None:
    try:
        tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"the settings in {file} cannot be read: {reason}"
        raise ConfigError(message, option="config") from None


def _refusal(error: ValidationError, flags: Mapping[str, Any], file: Path | None) -> ConfigError:
    """Say which setting is wrong and where it was given; never its value, it may be the token."""
    first = error.errors(include_input=False, include_url=False)[0]
    if not first["loc"]:
        return ConfigError(first["msg"].removeprefix("Value error, "), option="host")
    name = str(first["loc"][0])
    variable = PREFIX + name.upper()
    if name in flags:
        where = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    elif variable in os.environ:
        where = f"the variable {variable}"
    else:
        where = f"{name} in {file}"
    if first["type"] == "extra_forbidden":
        known = ", ".join(sorted(Settings.model_fields))
        return ConfigError(f"{where} is no setting; there are {known}", option=name)
    return ConfigError(f"{where}: {first['msg']}", option=name)
