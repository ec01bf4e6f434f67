import type { CodeEntry } from './entry.ts'

/** Codes of problems of definitions: errors and warnings of `validate`, `publish`, `simulate` and `tests/run`. */
export const PROBLEM_CODES = {
  channel_disconnected: {
    meaning: 'The channel is disconnected, so it receives no messages.',
    remedy: 'Connect it, or choose another channel.',
  },
  consent_keyword: {
    meaning: 'A keyword of the trigger changes the consent and starts no workflow.',
    remedy: 'Remove it, or remove it from the consent keywords with `PUT /api/workspace/consent-keywords`.',
  },
  duplicate_id: {
    meaning: 'An earlier step has the same ID.',
    remedy: 'Give each step an ID of its own.',
  },
  duplicate_keyword: {
    meaning: 'Another published workflow starts with the same keyword.',
    remedy: 'Choose another keyword, or give one of them a `priority`.',
  },
  duplicate_webhook: {
    meaning: 'The workflow has a second webhook trigger.',
    remedy: 'Keep one of them.',
  },
  host_refused: {
    meaning: 'A URL names a host that is not a public address.',
    remedy: 'Name a server that is reachable from the Internet.',
  },
  ineffective_field: {
    meaning: 'The field has no effect.',
    remedy: 'Remove it, or change what the message names.',
  },
  infinite_loop: {
    meaning: 'Steps repeat forever without waiting.',
    remedy: 'Add a wait to one of them.',
  },
  invalid: {
    meaning: 'A field is missing, or has a value that it does not take.',
    remedy: 'Correct it as the message says.',
  },
  invalid_cron: {
    meaning: 'The schedule is not a cron expression.',
    remedy: 'Use five fields, such as `0 9 * * 1-5`.',
  },
  invalid_date: {
    meaning: 'The text is not a date.',
    remedy: 'Use a date such as 2026-03-31T09:00.',
  },
  invalid_duration: {
    meaning: 'The text is not a duration.',
    remedy: 'Use a duration such as `30s`, `10m`, `24h` or `7d`, at most 365 days.',
  },
  invalid_header: {
    meaning: 'A header has a name or value that is not allowed.',
    remedy: 'Correct it as the message says.',
  },
  invalid_media_url: {
    meaning: 'The address of the file is not an http or https address.',
    remedy: 'Use an address such as https://example.com/photo.jpg.',
  },
  invalid_pattern: {
    meaning: 'The regular expression is not valid, or uses a feature that is not supported.',
    remedy: 'Correct it as the message says.',
  },
  invalid_template: {
    meaning: 'A placeholder is not valid.',
    remedy: 'Correct it as the message says.',
  },
  invalid_timezone: {
    meaning: 'The text is not an IANA time zone.',
    remedy: 'Use a name such as `America/Sao_Paulo`.',
  },
  invalid_url: {
    meaning: 'The URL is not valid.',
    remedy: 'Use a URL such as https://example.com/path.',
  },
  literal_instead_of_placeholder: {
    meaning: 'The left side of a condition is a literal text that looks like a path.',
    remedy: 'Write it in braces, such as `{{vars.city}}`.',
  },
  literal_secret: {
    meaning: 'A secret is written into the definition, where every member can read it.',
    remedy: 'Create a credential with `POST /api/credentials`, and name its ID instead.',
  },
  max_depth_exceeded: {
    meaning: 'Loops are nested too deep.',
    remedy: 'Move a loop to another workflow, and run that one.',
  },
  media_not_sendable: {
    meaning: 'The stored file has a type or size that this kind of message does not take.',
    remedy: 'Convert the file, or send it as another kind.',
  },
  message_too_long: {
    meaning: 'The text of the message is too long.',
    remedy: 'Shorten it.',
  },
  more_problems: {
    meaning: 'The definition has more problems than are listed.',
    remedy: 'Correct the listed ones first.',
  },
  no_ai_provider: {
    meaning: 'The workspace has no AI provider.',
    remedy: 'Set one with `PUT /api/ai-provider`.',
  },
  no_contact: {
    meaning: 'The step needs a contact, and a schedule starts runs without one.',
    remedy: 'Give the schedule a `groupId`.',
  },
  no_steps: {
    meaning: 'The workflow has no steps.',
    remedy: 'Add one.',
  },
  no_triggers: {
    meaning: 'The workflow has no triggers.',
    remedy: 'Add one.',
  },
  not_comparable: {
    meaning: 'The right side of a condition never matches its operator.',
    remedy: 'Compare with a single text or number.',
  },
  not_checked: {
    meaning: 'The draft was stored without the check, as the server is busy.',
    remedy: 'Check it with `POST /api/workflows/validate`.',
  },
  not_supported: {
    meaning: 'This version does not support the field or the value.',
    remedy: 'Use what the message names instead.',
  },
  outside_window_possible: {
    meaning: 'The step may be reached more than 24 hours after the last message of the customer.',
    remedy: 'Use `send_template`, or `ifWindowClosed` of the step.',
  },
  past_schedule: {
    meaning: 'The time of the schedule is in the past, so it starts no runs.',
    remedy: 'Set a time in the future.',
  },
  possible_infinite_loop: {
    meaning: 'Steps repeat forever if a wait is skipped.',
    remedy: 'Add a wait without a condition to one of them.',
  },
  reserved_id: {
    meaning: 'The ID is that of a target which is no step: `end`, `continue` or `break`.',
    remedy: 'Choose another ID.',
  },
  template_not_approved: {
    meaning: 'The provider has not approved the template.',
    remedy: 'Wait for approval, or choose another template.',
  },
  template_not_supported: {
    meaning: 'The template has components that cannot be sent.',
    remedy: 'Choose a template of a header, a body, a footer and buttons.',
  },
  template_of_other_channel: {
    meaning: 'The template belongs to another channel than those of the triggers.',
    remedy: 'Choose a template of one of these channels.',
  },
  template_params_invalid: {
    meaning: 'Parameters are missing or do not fit the template.',
    remedy: 'Send the variables that `GET /api/templates/{templateId}` lists.',
  },
  test_failed: {
    meaning: 'A test of the workflow failed.',
    remedy: 'Correct the definition, or the expectation of the test.',
  },
  tests_not_run: {
    meaning: 'Some tests were not run because the others took too long.',
    remedy: 'Run them with `POST /api/workflows/{workflowId}/tests/run`.',
  },
  title_too_long: {
    meaning: 'The title of a button is too long.',
    remedy: 'Shorten it.',
  },
  too_many_buttons: {
    meaning: 'The message has too many buttons.',
    remedy: 'Remove some.',
  },
  too_many_patterns: {
    meaning: 'The definition has too many regular expressions.',
    remedy: 'Remove some.',
  },
  too_many_placeholders: {
    meaning: 'The definition has too many placeholders.',
    remedy: 'Remove some.',
  },
  too_many_steps: {
    meaning: 'The definition has too many steps.',
    remedy: 'Move some of them to another workflow.',
  },
  tool_disabled: {
    meaning: 'The tool is disabled, so calling it fails.',
    remedy: 'Enable it.',
  },
  type_mismatch: {
    meaning: 'The initial value of a variable does not have its declared type.',
    remedy: 'Change the value or the type.',
  },
  unknown_broadcast: {
    meaning: 'The ID names no broadcast of the workspace.',
    remedy: 'Leave it out for replies to all broadcasts.',
  },
  unknown_channel: {
    meaning: 'The ID names no channel of the workspace.',
    remedy: 'Use an ID that `GET /api/channels` lists.',
  },
  unknown_credential: {
    meaning: 'The ID names no credential of the workspace.',
    remedy: 'Create one with `POST /api/credentials`.',
  },
  unknown_field: {
    meaning: 'The trigger, step or object has no field of this name.',
    remedy: 'Use a field that docs/workflow-language.md lists for it.',
  },
  unknown_group: {
    meaning: 'The ID names no group of the workspace.',
    remedy: 'Use an ID that `GET /api/groups` lists.',
  },
  unknown_media: {
    meaning: 'The ID names no stored file of the workspace.',
    remedy: 'Upload it with `POST /api/media`.',
  },
  unknown_member: {
    meaning: 'The ID names no member of the workspace, so the step will not assign the conversation.',
    remedy: 'Use an ID that `GET /api/members` lists.',
  },
  unknown_path: {
    meaning: 'A placeholder reads something else of a step than its output.',
    remedy: 'Write `steps.<id>.output`.',
  },
  unknown_root: {
    meaning: 'A placeholder starts with a name that does not exist.',
    remedy: 'Use a name that the message lists.',
  },
  unknown_step: {
    meaning: 'A placeholder reads the output of a step that does not exist.',
    remedy: 'Use the ID of a step.',
  },
  unknown_step_type: {
    meaning: 'There is no step of this type.',
    remedy: 'Use a type that the message names.',
  },
  unknown_target: {
    meaning: 'The ID of a step to continue with does not exist.',
    remedy: 'Use the ID of a step, or `end`.',
  },
  unknown_template: {
    meaning: 'The workspace has no such template.',
    remedy: 'Use one that `GET /api/templates` lists.',
  },
  unknown_tool: {
    meaning: 'The workspace has no tool of this name.',
    remedy: 'Use one that `GET /api/tools` lists.',
  },
  unknown_trigger_type: {
    meaning: 'There is no trigger of this type.',
    remedy: 'Use a type that the message names.',
  },
  unknown_variable: {
    meaning: 'A placeholder reads a variable that is never assigned.',
    remedy: 'Declare it in `variables`, or assign it with `set`.',
  },
  unknown_workflow: {
    meaning: 'The ID names no workflow of the workspace.',
    remedy: 'Use an ID that `GET /api/workflows` lists.',
  },
  unreachable_step: {
    meaning: 'The step cannot be reached.',
    remedy: 'Remove it, or continue with it from another step.',
  },
  workflow_not_published: {
    meaning: 'The workflow to run is not published: running it fails until it is.',
    remedy: 'Publish it.',
  },
} as const satisfies Record<string, CodeEntry>
