"""How volatile a hole is: judgements as a person would make them who reads the name or the call."""

from __future__ import annotations

import pytest

from prefixlab.prompt_templates import Expression, Volatility
from prefixlab.volatility.judgement import UNKNOWN, Judged
from prefixlab.volatility.judging import judged

# By what a value is: its volatility, its sort, and names that people give it.
NAMES = {
    ("REQUEST", "clock"): """
        now current_time timestamp currentTime current_datetime datetime created_at updatedAt request_time
        local_time current_timestamp time now_utc utc_now time_now iso_timestamp epoch_ms unix_time time_of_day
        clock_time sent_at current_hour
    """,
    ("DEPLOYMENT", "date"): """
        today date current_date currentDate todays_date today_date day weekday day_of_week current_day
        date_today
    """,
    ("REQUEST", "id"): """
        request_id requestId trace_id span_id correlation_id message_id uuid nonce run_id ticket_id order_id
        invoice_number case_number tracking_number transaction_id job_id call_id order_number booking_reference
        id request.id x_request_id requestUUID cache_buster
    """,
    ("REQUEST", "random"): "random_seed random_number salt random_example shuffled_examples",
    ("REQUEST", "question"): """
        question query user_input user_query input user_message user_question userPrompt task request utterance
        human_input customer_question user_request ticket complaint email_body email_text ask user_text text
        content topic essay answer model_answer response expected_output chat_input latest_user_message
        email_subject resume review tweet
    """,
    ("REQUEST", "retrieved"): """
        context documents docs retrieved_docs search_results chunks passages retrieved_context document article
        transcript snippets tool_results source_documents context_str evidence rag_context web_results sources
        retrieved_passages observation doc.content doc.title documents.page_content relevant_facts
        relevant_memories similar_examples retrieved_examples file_contents page_content
    """,
    ("TURN", "history"): """
        messages history chat_history conversation_history conversation agent_scratchpad previous_messages
        dialogue message_history past_messages last_messages message.content messages.role
    """,
    ("TURN", "session"): """
        tokens_left tokens_remaining remaining_tokens score step turn_number turns_left iteration
        budget_remaining retry_count attempt context_used tokens_used step_number current_step remaining_steps
        turn_count scores time_left message_count elapsed
    """,
    ("SESSION", "session"): """
        session_id sessionId conversation_id thread_id memory conversation_summary memories session_summary
        session.started_by chat_id summary session_state memories_text previous_summary
    """,
    ("USER", "user"): """
        user_name userName username user.name first_name firstName last_name customer_name customer.tier user_id
        userId email user_email phone_number address user_profile profile preferences user.preferences name
        customer_id account_id user.plan account user_language user_timezone user_location user_role customer
        user_instructions customer_type device_id os_user nickname user_age patient member_since full_name
        display_name employee_name visitor user_city user_info user_details user_context user.locale birth_date
        customer_data
    """,
    ("SESSION", "environment"): "git_status git_branch git_diff gitStatus branch_name current_branch",
    ("USER", "environment"): """
        cwd working_directory hostname current_dir pwd workdir home_dir workspace_path project_root os
        operating_system system_info environment_details repo_map shell
    """,
    ("TENANT", "setting"): """
        company_name companyName organization_name tenant_id org_id brand_name workspace_name store_name tenant
        organization company brand team_name
    """,
    ("DEPLOYMENT", "any"): """
        random_seed_policy user_guide user_types user_manual
        bot_name assistant_name agent_name model_name persona_name app_name model product_name version
        app_version date_format dateFormat time_format datetime_format max_time_limit time_limit num_results
        max_results num_documents top_k temperature max_tokens tone language locale style instructions rules
        guidelines policy output_format format_instructions response_format json_schema schema tools tool_names
        tool_descriptions tool_definitions tool_list examples few_shot_examples timezone time_zone timeout
        timeout_seconds system_prompt system_message knowledge_cutoff release_date model_id prompt_version role
        persona question_type query_language document_type current_month current_year context_window
        context_length max_history history_limit message_format message_template id_format id_prefix
        user_prompt_template email_template email_signature session_timeout session_limit max_turns max_steps
        score_threshold score_range categories labels region environment currency unit country_code word_limit
        num_questions number_of_questions max_iterations step_limit token_budget budget token_limit delivery_time
        response_time opening_hours opening_time support_email support_phone_number contact_email
        company_policies default_language function_name tool_name document_count memory_limit budget_limit
        input_language source_language target_language input_format input_schema label ai_name due_date
        start_date event_date examples.question example.input example.output demos.answer build_id build_number
        rules_text system_text conda_file tool_file catalog_id rename_with_shell item.name tool.name
        tool.description field.name product_description prefix suffix delimiter bos_token eos_token
    """,
}
CASES = [(name, *said) for said, names in NAMES.items() for name in names.split()]


def of(name: str) -> Judged:
    return judged(Expression(name, (name,)))


def test_the_table_is_large() -> None:
    assert len({name for name, _, _ in CASES}) >= 300


@pytest.mark.parametrize(("name", "volatility", "sort"), CASES, ids=[case[0] for case in CASES])
def test_names(name: str, volatility: str, sort: str) -> None:
    found = of(name)
    assert found.volatility.name == volatility
    if sort != "any":
        assert found.sort == sort
    else:
        assert found.sort in ("setting", "unknown")


def test_a_name_may_stand_alone_or_be_written_in_any_case() -> None:
    for name in ("request_id", "requestId", "RequestID", "REQUEST_ID", "request-id", "ctx.request_id"):
        assert of(name)[:2] == (Volatility.REQUEST, "id")
    for name in ("", "1", "_", "x"):
        assert of(name) == UNKNOWN


# Calls with the names they are called on and the formats among their arguments.
CALLS: list[tuple[str, str, str, str, str]] = [
    (calls, names, formats, *said.split())  # type: ignore[misc]
    for calls, names, formats, said in (
        ("now", "", "", "REQUEST clock"),
        ("datetime.now", "datetime", "", "REQUEST clock"),
        ("datetime.now isoformat", "", "", "REQUEST clock"),
        ("datetime.datetime.utcnow", "", "", "REQUEST clock"),
        ("datetime.now strftime", "", "%Y-%m-%d %H:%M:%S", "REQUEST clock"),
        ("datetime.now strftime", "", "%Y-%m-%d", "DEPLOYMENT date"),
        ("datetime.now strftime", "datetime", "%A, %d %B %Y", "DEPLOYMENT date"),
        ("datetime.now date isoformat", "", "", "DEPLOYMENT date"),
        ("datetime.today", "", "", "REQUEST clock"),
        ("datetime.datetime.today", "", "", "REQUEST clock"),
        ("datetime.today strftime", "", "%d.%m.%Y", "DEPLOYMENT date"),
        ("datetime.today date", "", "", "DEPLOYMENT date"),
        ("date.today", "", "", "DEPLOYMENT date"),
        ("datetime.date.today isoformat", "", "", "DEPLOYMENT date"),
        ("date.today strftime", "", "%Y-%m-%d", "DEPLOYMENT date"),
        ("time.time", "", "", "REQUEST clock"),
        ("time.time_ns", "", "", "REQUEST clock"),
        ("time.ctime", "", "", "REQUEST clock"),
        ("time.strftime", "", "%Y-%m-%d", "DEPLOYMENT date"),
        ("time.strftime", "", "%H:%M", "REQUEST clock"),
        ("time.perf_counter", "", "", "REQUEST clock"),
        ("strftime_now", "", "%d %b %Y", "DEPLOYMENT date"),
        ("strftime_now", "", "%d %b %Y %H:%M", "REQUEST clock"),
        ("pendulum.now", "", "", "REQUEST clock"),
        ("pendulum.today", "", "", "DEPLOYMENT date"),
        ("arrow.utcnow format", "", "YYYY-MM-DD HH:mm", "REQUEST clock"),
        ("arrow.utcnow format", "", "YYYY-MM-DD", "DEPLOYMENT date"),
        ("moment format", "", "dddd, MMMM Do YYYY", "DEPLOYMENT date"),
        ("moment format", "", "[at] HH:mm", "REQUEST clock"),
        ("Date.now", "Date", "", "REQUEST clock"),
        ("timezone.now", "timezone", "", "REQUEST clock"),
        ("timezone.localdate", "timezone", "", "DEPLOYMENT date"),
        ("currentDate", "", "", "DEPLOYMENT date"),
        ("currentTime", "", "", "REQUEST clock"),
        ("date", "now", "%Y-%m-%d %H:%M:%S", "REQUEST clock"),
        ("now date", "", "%Y-%m-%d %H:%M:%S", "REQUEST clock"),
        ("now date", "", "%Y-%m-%d", "DEPLOYMENT date"),
        ("now date", "", "", "DEPLOYMENT date"),
        ("date", "now", "%B %d, %Y", "DEPLOYMENT date"),
        ("formatDate", "timestamp", "YYYY-MM-DD", "DEPLOYMENT date"),
        ("formatDate", "timestamp", "YYYY-MM-DD HH:mm:ss", "REQUEST clock"),
        ("strftime", "created_at", "%Y", "DEPLOYMENT date"),
        ("time.Now", "", "", "REQUEST clock"),
        ("time.Today", "", "", "DEPLOYMENT date"),
        ("time.DayOfWeek", "", "", "DEPLOYMENT date"),
        ("time.Time", "", "", "REQUEST clock"),
        ("uuid4", "", "", "REQUEST id"),
        ("uuid.uuid4", "uuid", "", "REQUEST id"),
        ("uuid.uuid4 hex", "", "", "REQUEST id"),
        ("uuid.uuid1", "", "", "REQUEST id"),
        ("secrets.token_hex", "", "", "REQUEST id"),
        ("os.urandom hex", "", "", "REQUEST id"),
        ("ulid.new", "", "", "REQUEST id"),
        ("nanoid", "", "", "REQUEST id"),
        ("crypto.randomUUID", "crypto", "", "REQUEST id"),
        # Made of a name, and always the same for it.
        ("uuid.uuid5", "tenant_name", "", "TENANT setting"),
        ("random", "examples", "", "REQUEST random"),
        ("random.choice", "", "", "REQUEST random"),
        ("random.sample", "examples", "", "REQUEST random"),
        ("random.shuffle", "", "", "REQUEST random"),
        ("np.random.choice", "", "", "REQUEST random"),
        ("numpy.random.randint", "", "", "REQUEST random"),
        ("self.rng.choice", "", "", "REQUEST random"),
        ("choice", "examples", "", "REQUEST random"),
        ("secrets.choice", "", "", "REQUEST random"),
        ("examples.sample", "examples", "", "REQUEST random"),
        ("menu.choice", "", "", "DEPLOYMENT unknown"),
        ("os.getcwd", "os", "", "USER environment"),
        ("pathlib.Path.cwd", "", "", "USER environment"),
        ("Path.home", "", "", "USER environment"),
        ("socket.gethostname", "", "", "USER environment"),
        ("platform.node", "", "", "USER environment"),
        ("platform.system", "", "", "USER environment"),
        ("getpass.getuser", "", "", "USER environment"),
        ("os.getlogin", "", "", "USER environment"),
        ("os.getpid", "", "", "USER environment"),
        ("process.cwd", "process", "", "USER environment"),
        ("subprocess.check_output", "", "", "SESSION environment"),
        ("subprocess.run", "", "", "SESSION environment"),
        ("tree.node", "", "", "DEPLOYMENT unknown"),
        ("node", "", "", "DEPLOYMENT unknown"),
        ("app.run", "", "", "DEPLOYMENT unknown"),
        ("json.dumps", "", "", "DEPLOYMENT unknown"),
        ("upper", "user_name", "", "USER user"),
        ("join", "documents", "", "REQUEST retrieved"),
        ("length", "date_format", "", "DEPLOYMENT setting"),
        ("tojson", "tools", "", "DEPLOYMENT unknown"),
        ("get_weather", "city_code", "", "DEPLOYMENT unknown"),
        ("os.getenv", "", "", "DEPLOYMENT unknown"),
    )
]


@pytest.mark.parametrize(
    ("calls", "names", "formats", "volatility", "sort"),
    CALLS,
    ids=[f"{calls} {formats}".strip() + (f" of {names}" if names else "") for calls, names, formats, _, _ in CALLS],
)
def test_calls(calls: str, names: str, formats: str, volatility: str, sort: str) -> None:
    found = judged(
        Expression("x", tuple(names.split()), tuple(calls.split()), (formats,) if formats else ()),
    )
    assert (found.volatility.name, found.sort) == (volatility, sort)


# --- what tells, in its order ---

NOW = Expression("now()", (), ("now",))
CONSTANT, TENANT, USER, REQUEST = Volatility.CONSTANT, Volatility.TENANT, Volatility.USER, Volatility.REQUEST


def test_the_project_counts_more_than_values() -> None:
    name = Expression("region", ("region",))
    assert judged(name, {"region": USER}, {"region": 1.0}) == Judged(USER, "unknown", "declared", "region")
    assert judged(name, {"reg*": USER}, {"region": 0.0}).volatility == USER
    assert judged(name, {"other": USER}, {"region": 1.0}).by == "values"


def test_the_project_counts_more_than_a_call_or_a_name() -> None:
    assert judged(NOW, {"now": CONSTANT}) == Judged(CONSTANT, "clock", "declared", "now")
    assert judged(Expression("x", ("request_id",)), {"request_id": TENANT}) == Judged(
        TENANT, "id", "declared", "request_id"
    )
    # An attribute of what is declared is declared as well.
    assert judged(Expression("x", ("session.request_id",)), {"session": USER}).volatility == USER
    # What the project says of a part of an expression counts for all of it.
    assert judged(Expression("x", ("request_id",), ("render",)), {"render": TENANT}).volatility == TENANT


def test_values_count_more_than_a_call_or_a_name() -> None:
    assert judged(NOW, {}, {"now": 0.0}) == Judged(CONSTANT, "clock", "values", "now")
    assert judged(Expression("x", ("request_id",)), {}, {"request_id": 0.0}).volatility == CONSTANT
    assert judged(Expression("x", ("user.name",)), {}, {"user": 0.0}).volatility == CONSTANT
    assert judged(Expression("x", ("date_format",)), {}, {"date_format": 1.0}).volatility == REQUEST
    # A date that is another one with most rows is a clock.
    assert judged(Expression("x", ("date",)), {}, {"date": 1.0})[:3] == (REQUEST, "clock", "values")
    assert judged(Expression("x", ("date",)), {}, {"date": 0.1}).sort == "date"


@pytest.mark.parametrize(
    ("part", "volatility"),
    [(1.0, "REQUEST"), (0.9, "REQUEST"), (0.6, "SESSION"), (0.2, "USER"), (0.01, "TENANT"), (0.0, "CONSTANT")],
)
def test_values_of_an_unknown_name(part: float, volatility: str) -> None:
    found = judged(Expression("x", ("flavour",)), {}, {"flavour": part})
    assert (found.volatility.name, found.by) == (volatility, "values")


def test_of_a_known_name_the_values_say_that_it_varies_and_the_name_with_what() -> None:
    for part in (1.0, 0.5, 0.01):
        assert judged(Expression("x", ("user_name",)), {}, {"user_name": part})[:3] == (USER, "user", "name")


def test_a_call_counts_more_than_the_names_it_is_called_on() -> None:
    # The name alone would be a clock, and the call leaves the day of it.
    assert judged(Expression("x", ("timestamp",), ("strftime",), ("%Y-%m-%d",))).sort == "date"
    assert judged(Expression("x", ("examples",), ("random",))).by == "call"


def test_the_most_volatile_part_counts() -> None:
    both = Expression("x", ("user_name", "request_id", "tone"))
    assert judged(both) == Judged(REQUEST, "id", "name", "request_id")
    assert judged(Expression("x", ("user_name",), ("uuid4",))).sort == "id"
    assert judged(Expression("'a'")) == UNKNOWN
