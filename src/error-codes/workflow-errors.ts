import type { ErrorEntry } from './entry.ts'

/** Errors of workflows, their tests and the ways in which they start. */
export const WORKFLOW_ERRORS = {
  already_running: {
    status: 409,
    meaning: 'The workflow is already running for this contact or conversation, and ignores further starts.',
    remedy: 'Cancel that run, or set `settings.reentry` of the workflow to `queue`, `restart` or `parallel`.',
  },
  condition_not_met: {
    status: 422,
    meaning: 'The condition `if` of the trigger is not met.',
    remedy: 'Compare the condition with the contact and the input.',
  },
  dedupe_key_missing: {
    status: 422,
    meaning: 'The body of a webhook call has no value for the `dedupeKey` of the trigger.',
    remedy: 'Send one.',
  },
  draft_changed: {
    status: 409,
    meaning: 'The draft was changed while it was being published.',
    remedy: 'Publish it again.',
  },
  input_not_recorded: {
    status: 422,
    meaning: 'The conversation to simulate has no inbound messages.',
    remedy: 'Pass a `dialogue` instead.',
  },
  invalid_phone: {
    status: 422,
    meaning: '`contact.phone` of a webhook trigger is filled in with no phone number.',
    remedy: 'Send a number in international format, such as +14155550100.',
  },
  literal_secret: {
    status: 422,
    meaning: 'A secret is written into a definition, a tool or a test, where every member can read it.',
    remedy: 'Create a credential with `POST /api/credentials`, and name its ID instead.',
  },
  placeholder_failed: {
    status: 422,
    meaning: 'A placeholder of a parameter or of a webhook trigger cannot be filled in.',
    remedy: 'Correct the placeholder as the text of the error says.',
  },
  test_too_large: {
    status: 422,
    meaning: 'The workflow test has more than 256 KB.',
    remedy: 'Create one with shorter step outputs.',
  },
  too_many_tests: {
    status: 409,
    meaning: 'The workflow or the workspace has as many workflow tests as it may.',
    remedy: 'Delete one first.',
  },
  too_many_versions: {
    status: 409,
    meaning: 'The versions of all workflows of the workspace have as many bytes as they may.',
    remedy: 'Delete workflows that never ran.',
  },
  too_many_workflows: {
    status: 409,
    meaning: 'The workspace has as many workflows as it may.',
    remedy: 'Delete those that are not used.',
  },
  trigger_not_found: {
    status: 422,
    meaning: 'The published version has no trigger of this type.',
    remedy: 'Add the trigger to the definition, and publish it.',
  },
  type_mismatch: {
    status: 422,
    meaning: 'The value of a variable does not have its declared type.',
    remedy: 'Send values as `variables` of the workflow declares them.',
  },
  unknown_phone: {
    status: 422,
    meaning: 'No contact has the phone number of a webhook call.',
    remedy: 'Create the contact first, or set `createIfMissing` in the webhook trigger.',
  },
  unknown_step: {
    status: 422,
    meaning: 'The workflow has no step of this ID. `details` has the nearest ones.',
    remedy: 'Name a step of the version that is to run.',
  },
  not_external_step: {
    status: 422,
    meaning: 'The step makes no external call, so its output cannot be overridden.',
    remedy: 'Change its input instead.',
  },
  value_too_large: {
    status: 422,
    meaning: 'A value is too large once its placeholders are filled in.',
    remedy: 'Use shorter values.',
  },
  version_conflict: {
    status: 409,
    meaning: 'The draft has been changed since it was read.',
    remedy: 'Read it again and repeat the change.',
  },
  workflow_already_published: {
    status: 409,
    meaning: 'A workflow that was published cannot be deleted.',
    remedy: 'Archive it first; it can then be deleted if it never ran.',
  },
  workflow_archived: {
    status: 409,
    meaning: 'An archived workflow cannot be published.',
    remedy: 'Unarchive it first.',
  },
  workflow_has_runs: {
    status: 409,
    meaning: 'A workflow that has runs cannot be deleted.',
    remedy: 'Archive it instead.',
  },
  workflow_invalid: {
    status: 422,
    meaning: 'The definition has errors. `details` lists all of them.',
    remedy: 'Correct them: each has a code of the [problems of definitions](#problems-of-definitions).',
  },
  workflow_key_taken: {
    status: 409,
    meaning: 'Another workflow of the workspace has the key.',
    remedy: 'Choose another key, or change that workflow with `PUT /api/workflows/by-key/{key}`.',
  },
  workflow_not_archived: {
    status: 409,
    meaning: 'The workflow to unarchive is not archived.',
    remedy: 'Read the workflow again: nothing needs to be done.',
  },
  workflow_not_published: {
    status: 409,
    meaning: 'The workflow is not published, or its published version has no webhook trigger.',
    remedy: 'Publish it, or for a replay pass a version number.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Errors of runs and their replays. */
export const RUN_ERRORS = {
  definition_changed: {
    status: 422,
    meaning: 'A step that the replay would reuse has changed since the run. `details` names it.',
    remedy: 'Replay from this step, or from the start.',
  },
  draft_requires_dry_run: {
    status: 422,
    meaning: 'A draft can only be replayed with the mode `dry_run`.',
    remedy: 'Send `"mode": "dry_run"`, or publish the draft.',
  },
  no_failed_step: {
    status: 422,
    meaning: 'No step of the run failed.',
    remedy: 'Replay from `start` instead.',
  },
  run_finished: {
    status: 409,
    meaning: 'The run is already finished.',
    remedy: 'Replay it to run it again.',
  },
  run_is_dry_run: {
    status: 422,
    meaning: 'A dry run cannot be replayed or saved as a test.',
    remedy: 'Use the original run instead.',
  },
  run_is_partial_replay: {
    status: 422,
    meaning: 'The run started in the middle of the workflow, so it cannot be saved as a test.',
    remedy: 'Save the original run instead.',
  },
  run_not_finished: {
    status: 409,
    meaning: 'The run is not finished.',
    remedy: 'Wait for it or cancel it.',
  },
  run_was_canceled: {
    status: 422,
    meaning: 'A canceled run cannot be saved as a test.',
    remedy: 'Choose a completed run.',
  },
  state_not_recorded: {
    status: 422,
    meaning:
      'The state before the step is incomplete, as an output was truncated or redacted. `details` names its step.',
    remedy: 'Replay from an earlier step.',
  },
  step_not_reached: {
    status: 422,
    meaning: 'The run did not reach the step. `details` has the nearest ones that it did.',
    remedy: 'Name a step that it reached.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Errors of tools and credentials. */
export const TOOL_ERRORS = {
  credential_host_refused: {
    status: 422,
    meaning: 'The credential may not be sent to the host of the URL.',
    remedy: 'Add the host to the credential, or use another credential.',
  },
  credential_in_use: {
    status: 409,
    meaning: 'Tools or workflows use the credential to delete. `details` lists them.',
    remedy: 'Choose another credential there first.',
  },
  name_taken: {
    status: 409,
    meaning: 'A tag, group, tool, credential or workflow test of this name exists.',
    remedy: 'Choose another name.',
  },
  too_many_credentials: {
    status: 409,
    meaning: 'The workspace has as many credentials as it may.',
    remedy: 'Delete those that are not used.',
  },
  too_many_tools: {
    status: 409,
    meaning: 'The workspace has as many tools of its own as it may.',
    remedy: 'Delete those that are not used.',
  },
  tool_is_builtin: {
    status: 409,
    meaning: 'Built-in tools cannot be changed.',
    remedy: 'Create a tool instead.',
  },
} as const satisfies Record<string, ErrorEntry>
