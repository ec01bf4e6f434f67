import type { ErrorEntry } from './entry.ts'

/** Errors of templates. */
export const TEMPLATE_ERRORS = {
  template_exists: {
    status: 409,
    meaning: 'The channel has a template of this name in this language.',
    remedy: 'Choose another name.',
  },
  template_in_use: {
    status: 409,
    meaning: 'Published workflows or broadcasts use the template. `details` lists them.',
    remedy: 'Choose another template in these workflows and publish them, and delete these broadcasts first.',
  },
  template_not_approved: {
    status: 422,
    meaning: 'The provider has not approved the template. `details` has its status.',
    remedy:
      'Submit it with `POST /api/templates/{templateId}/submit` and wait for approval, or choose another template.',
  },
  template_not_draft: {
    status: 409,
    meaning: 'The template to submit is not a draft.',
    remedy: 'Change a rejected template first, which makes it a draft.',
  },
  template_not_editable: {
    status: 409,
    meaning: 'The template, or this field of it, can no longer be changed.',
    remedy: 'Create a template of another name.',
  },
  template_not_supported: {
    status: 422,
    meaning: 'The template has components that cannot be sent, such as a carousel.',
    remedy: 'Choose a template of a header, a body, a footer and buttons.',
  },
  template_of_other_channel: {
    status: 422,
    meaning: 'The template belongs to another channel.',
    remedy: 'Choose a template of the channel of the conversation or broadcast.',
  },
  template_params_invalid: {
    status: 422,
    meaning: 'Parameters are missing, not known or do not fit the template. `details` lists them.',
    remedy: 'Send the variables that `GET /api/templates/{templateId}` lists.',
  },
  template_submission_in_progress: {
    status: 409,
    meaning: 'The template is being submitted.',
    remedy: 'Try again in a minute.',
  },
  too_many_templates: {
    status: 409,
    meaning: 'The workspace has as many templates as it may.',
    remedy: 'Delete those that are not used.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Errors of broadcasts. */
export const BROADCAST_ERRORS = {
  audience_empty: {
    status: 422,
    meaning: 'The broadcast has no audience.',
    remedy: 'Add groups, tags, contacts, recipients or a filter to it.',
  },
  broadcast_not_editable: {
    status: 409,
    meaning: 'The broadcast has started, or is not a draft, so it cannot be changed or deleted.',
    remedy: 'Cancel it instead, or create another one.',
  },
  broadcast_start_in_past: {
    status: 422,
    meaning: 'The start of the broadcast is in the past, in the earliest time zone if each contact has its own.',
    remedy: 'Choose a later time, or send the broadcast now.',
  },
  broadcast_status_conflict: {
    status: 409,
    meaning: 'The status of the broadcast does not allow this. `details` has the status and those that do.',
    remedy: 'Read the broadcast again, and wait for or cause one of the allowed statuses.',
  },
  nothing_to_retry: {
    status: 422,
    meaning: 'No recipient of the broadcast can be retried.',
    remedy: 'Retry only recipients who failed before the provider accepted their message.',
  },
  test_not_sent: {
    status: 422,
    meaning: 'Nobody may be sent the test. `details` has the reason of each contact.',
    remedy: 'Choose another contact.',
  },
  too_many_broadcasts: {
    status: 409,
    meaning: 'The workspace has as many drafts and scheduled broadcasts as it may.',
    remedy: 'Delete those that are not used.',
  },
} as const satisfies Record<string, ErrorEntry>
