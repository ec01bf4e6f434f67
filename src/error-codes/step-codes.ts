import type { CodeEntry } from './entry.ts'
import { PROBLEM_CODES } from './problem-codes.ts'

/** Codes of failed steps and runs, in `error` of their records. */
export const STEP_CODES = {
  ai_refused: {
    meaning: 'The AI provider rejected the request.',
    remedy: 'Check the model and the key of the AI provider, and the fields of the step.',
  },
  ai_unavailable: {
    meaning: 'The AI provider is overloaded or failed.',
    remedy: 'Give the step a `retry`.',
  },
  already_running: {
    meaning: 'The workflow to run is already running for this contact, or waits for this run.',
    remedy: 'Set its `settings.reentry`, or leave out the step.',
  },
  answer_too_large: {
    meaning: 'The response of the called server is too large.',
    remedy: 'Request less, such as fewer fields or a smaller page.',
  },
  budget_exceeded: {
    meaning: 'The step needs too much work.',
    remedy: 'Use shorter lists and texts, fewer placeholders and filters, or simpler patterns.',
  },
  called_off: {
    meaning: 'The call was canceled, as the run ended or the process stopped.',
    remedy: 'Replay the run if it should continue.',
  },
  cascade_rate_limited: {
    meaning: 'Workflows start each other too often for this contact.',
    remedy: 'Remove the loop of workflows, or add a wait to it.',
  },
  contact_blocked: {
    meaning: 'The contact is blocked.',
    remedy: 'Set its field `blocked` to false, and replay the run.',
  },
  contact_opted_out: {
    meaning: 'The contact opted out of messages of this kind.',
    remedy: 'Handle it with `onError`, or wait for its consent.',
  },
  credential_host_refused: {
    meaning: 'The credential may not be sent to the host of the URL.',
    remedy: 'Add the host to the credential, or use another credential.',
  },
  credential_unreadable: {
    meaning: 'The secret of the credential cannot be decrypted, as `SECRET_KEY` of the server was changed.',
    remedy: 'Set the secret again.',
  },
  empty_message: {
    meaning: 'The message is empty once its placeholders are filled in, or the model returned no text.',
    remedy: 'Give the placeholders a value with the filter `default`.',
  },
  host_refused: {
    meaning: 'The host of the URL is not a public address.',
    remedy: 'Call a server that is reachable from the Internet.',
  },
  http_status: {
    meaning: 'The response has a status that the step takes as a failure.',
    remedy: 'Check the request in the record of the step, or handle the status with `onError`.',
  },
  input_not_recorded: {
    meaning: 'A dry run needs a reply or an event that the original run did not get.',
    remedy: 'Simulate the workflow with a `dialogue` instead.',
  },
  internal: {
    meaning: 'The run or the call failed because of an internal error.',
    remedy: 'Replay the run. If the error stays, report its ID.',
  },
  invalid_ai_answer: {
    meaning: 'The response of the AI provider is not a chat completion.',
    remedy: 'Check the base URL of the AI provider.',
  },
  invalid_ai_output: {
    meaning: 'The output of the model does not match the schema of the step.',
    remedy: 'Simplify the schema, describe its fields, or give the step a `retry`.',
  },
  invalid_assignee: {
    meaning: 'The assignee is not the ID of a member.',
    remedy: 'Use an ID that `GET /api/members` lists.',
  },
  invalid_content: {
    meaning: 'A part of the message is not valid once its placeholders are filled in.',
    remedy: 'Correct the field that the text of the error names.',
  },
  invalid_date: {
    meaning: 'The time to wait for is filled in with no date.',
    remedy: 'Use a date such as 2026-03-31T09:00.',
  },
  invalid_header: {
    meaning: 'A header or the idempotency key has characters that are not allowed in headers.',
    remedy: 'Remove line breaks from the value.',
  },
  invalid_media_url: {
    meaning: 'The address of the file is not an http or https address once its placeholders are filled in.',
    remedy: 'Check the placeholders of the address.',
  },
  invalid_request: {
    meaning: 'The request cannot be sent.',
    remedy: 'Check its headers.',
  },
  invalid_response: {
    meaning: 'The response of the called server cannot be read or stored.',
    remedy: 'Let the server respond without compression, and with less deeply nested values.',
  },
  invalid_tag: {
    meaning: 'The tag is too long once its placeholders are filled in.',
    remedy: 'Use a shorter tag.',
  },
  invalid_tool_input: {
    meaning: 'The input does not match the schema of the tool.',
    remedy: 'Correct the input as the text of the error says.',
  },
  invalid_tool_output: {
    meaning: 'The output of the tool does not match its schema.',
    remedy: 'Correct the server of the tool or the `outputSchema`.',
  },
  invalid_url: {
    meaning: 'The URL is not valid once its placeholders are filled in.',
    remedy: 'Check the placeholders of the URL.',
  },
  invalid_value: {
    meaning: 'A value of the contact is not valid once its placeholders are filled in.',
    remedy: 'Correct the value as the text of the error says.',
  },
  max_depth_exceeded: {
    meaning: 'Workflows run each other too deep.',
    remedy: 'Remove the loop of workflows.',
  },
  media_not_sendable: PROBLEM_CODES.media_not_sendable,
  message_too_long: {
    meaning: 'The text is too long once its placeholders are filled in.',
    remedy: 'Shorten the values, for example with the filter `truncate`.',
  },
  no_ai_provider: PROBLEM_CODES.no_ai_provider,
  no_contact: {
    meaning: 'The step needs a contact, and the run has none.',
    remedy: 'Start the workflow for a contact.',
  },
  no_conversation: {
    meaning: 'The step needs a conversation, and the run has none.',
    remedy: 'Start the workflow for a contact or by a message.',
  },
  no_valid_answer: {
    meaning: 'No reply to the question was valid.',
    remedy: 'Set `onInvalid` to the step that follows then.',
  },
  not_a_list: {
    meaning: 'The value of `over` is not a list.',
    remedy: 'Check the placeholder, or convert the value with a filter such as `split`.',
  },
  outcome_unknown: {
    meaning: 'The call was started several times without a recorded result.',
    remedy: 'Look at the called server for the outcome, and replay the run from this step if it is safe.',
  },
  outside_window: {
    meaning: 'The customer wrote more than 24 hours ago, so only a template can be sent.',
    remedy: 'Use `send_template`, or `ifWindowClosed` of the step.',
  },
  request_too_large: {
    meaning: 'The request body is larger than 1 MB.',
    remedy: 'Send less.',
  },
  step_limit: {
    meaning: 'The run exceeded the limit of steps in an hour or in total.',
    remedy: 'Add a wait to its loop.',
  },
  stopped: {
    meaning: 'A `stop` step with the status `failed` was reached.',
    remedy: 'See the reason that the step states.',
  },
  superseded: {
    meaning: 'The step was canceled, or executed by another process.',
    remedy: 'Nothing: the run continues elsewhere or has ended.',
  },
  placeholder_failed: {
    meaning: 'A placeholder cannot be filled in.',
    remedy: 'Correct it as the text of the error says.',
  },
  template_not_approved: PROBLEM_CODES.template_not_approved,
  template_not_supported: PROBLEM_CODES.template_not_supported,
  template_of_other_channel: {
    meaning: 'The template belongs to another channel than the conversation.',
    remedy: 'Choose a template of that channel.',
  },
  template_params_invalid: PROBLEM_CODES.template_params_invalid,
  timed_out: {
    meaning: 'No result arrived within the time allowed.',
    remedy: 'Raise the `timeout` of the step, or set `onTimeout`.',
  },
  too_many_redirects: {
    meaning: 'The call was redirected too often.',
    remedy: 'Use the final URL.',
  },
  tool_disabled: {
    meaning: 'The tool is disabled.',
    remedy: 'Enable it.',
  },
  tool_failed: {
    meaning: 'The tool responded with a status that is not a success.',
    remedy: 'Check the server of the tool.',
  },
  tool_not_supported: {
    meaning: 'The built-in tool is not implemented by this version.',
    remedy: 'Use another tool.',
  },
  turn_limit: {
    meaning: 'The model called tools more often than the step allows.',
    remedy: 'Raise `maxTurns`, or make the instructions clearer.',
  },
  type_mismatch: {
    meaning: 'A variable was assigned a value that does not have its declared type.',
    remedy: 'Convert the value, or change the type of the variable.',
  },
  unknown_credential: {
    meaning: 'The credential does not exist.',
    remedy: 'Choose another one.',
  },
  unknown_media: {
    meaning: 'The stored file does not exist.',
    remedy: 'Upload it with `POST /api/media`, and name its ID.',
  },
  unknown_request: {
    meaning: 'This version cannot make the external call of the step.',
    remedy: 'Upgrade all processes to one version, and replay the run.',
  },
  unknown_step: {
    meaning: 'The version of the workflow has no step of this ID.',
    remedy: 'Replay the run from the start.',
  },
  unknown_step_type: {
    meaning: 'This version has no step of this type.',
    remedy: 'Upgrade all processes to one version, and replay the run.',
  },
  unknown_template: {
    meaning: 'The template does not exist.',
    remedy: 'Choose another one, and publish the workflow.',
  },
  unknown_tool: {
    meaning: 'The workspace or the step has no tool of this name.',
    remedy: 'Create the tool, or use another one.',
  },
  unreachable: {
    meaning: 'The host cannot be reached, or closed the connection.',
    remedy: 'Check the server, and give the step a `retry`.',
  },
  value_too_large: {
    meaning: 'A value is too large once its placeholders are filled in.',
    remedy: 'Use shorter values.',
  },
  variables_too_large: {
    meaning: 'The variables of the run are too large together.',
    remedy: 'Assign less to them.',
  },
  wait_too_long: {
    meaning: 'The wait would be longer than 365 days.',
    remedy: 'Wait for an earlier time.',
  },
  workflow_failed: {
    meaning: 'The run of the other workflow failed or was canceled.',
    remedy: 'Look at that run, or handle it with `onError`.',
  },
  workflow_not_published: {
    meaning: 'The workflow to run is not published.',
    remedy: 'Publish it.',
  },
} as const satisfies Record<string, CodeEntry>
