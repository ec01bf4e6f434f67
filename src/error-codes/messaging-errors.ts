import type { ErrorEntry } from './entry.ts'

/** Errors of contacts, conversations, messages and files. */
export const CONTACT_ERRORS = {
  contact_blocked: {
    status: 422,
    meaning: 'The contact is blocked: it is sent no messages, and starts no runs.',
    remedy: 'Set its field `blocked` to false first.',
  },
  contact_exists: {
    status: 409,
    meaning: 'Another contact has this phone number or external ID, or other calls change the same contacts.',
    remedy: 'Update the contact that `details` names, or send the items again.',
  },
  contact_opted_out: {
    status: 422,
    meaning: 'The contact opted out of marketing, or of all automated messages. `details` names the purpose.',
    remedy:
      'Send a template of the category utility if it opted out of marketing only; otherwise wait for its consent.',
  },
  contact_unreachable: {
    status: 422,
    meaning: 'The contact has no phone number and has not written on this channel.',
    remedy: 'Add a phone number, or choose another channel.',
  },
  conversation_contact_mismatch: {
    status: 422,
    meaning: 'The conversation belongs to another contact than `contactId`.',
    remedy: 'Omit `contactId`, or pass the contact of the conversation.',
  },
  conversation_not_sandbox: {
    status: 422,
    meaning: 'The conversation is on a channel of a provider, whose customer cannot be played.',
    remedy: 'Name a conversation of the sandbox channel.',
  },
  conversation_too_long: {
    status: 422,
    meaning:
      'The conversation of the sandbox has more messages, runs, steps or evaluations of triggers than one call moves in time.',
    remedy: 'Let time pass in a new conversation, from another phone number.',
  },
  channel_required: {
    status: 422,
    meaning: 'The call names no channel, and the workspace has none or several that are connected.',
    remedy: 'Set `channelId`, or connect a channel.',
  },
  media_empty: {
    status: 400,
    meaning: 'The upload has no bytes.',
    remedy: 'Send the file as the request body.',
  },
  media_not_sendable: {
    status: 422,
    meaning: 'The stored file has a type or size that this kind of message does not take.',
    remedy: 'Convert the file, or send it as another kind. The text of the error states what is accepted.',
  },
  media_quota_exceeded: {
    status: 409,
    meaning: 'The file does not fit into the quota of the workspace.',
    remedy: 'Delete files that are not needed: `GET /api/media` lists them with their sizes.',
  },
  media_type_not_allowed: {
    status: 400,
    meaning: 'Files of this type cannot be stored.',
    remedy: 'Convert it to an image, audio, video, PDF, Office document or plain text.',
  },
  message_not_scheduled: {
    status: 409,
    meaning: 'The message to cancel is not scheduled, or its time has come.',
    remedy: 'Cancel scheduled messages before their time only.',
  },
  option_unknown: {
    status: 422,
    meaning: 'The message has no option with this ID.',
    remedy: 'Name one of `optionIds` in `details`, which is empty for a message without options.',
  },
  outside_window: {
    status: 422,
    meaning: 'The customer wrote more than 24 hours ago, or never. Only templates may be sent.',
    remedy: 'Send an approved template with `POST /api/messages` or a broadcast, or wait until the customer writes.',
  },
  replied_message_not_sent: {
    status: 422,
    meaning: 'The customer has not got the message that this one replies or reacts to.',
    remedy: 'Send it without `replyToId`, or name another message.',
  },
  too_many_groups: {
    status: 409,
    meaning: 'The workspace has as many groups as it may.',
    remedy: 'Delete those that are not used.',
  },
  too_many_tags: {
    status: 409,
    meaning: 'The workspace has as many tags as it may.',
    remedy: 'Delete those that are not used.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Errors of channels and their webhooks, and of the webhooks that send events. */
export const CHANNEL_ERRORS = {
  business_account_missing: {
    status: 422,
    meaning: 'The channel does not name its WhatsApp Business Account, to which templates belong.',
    remedy: 'Set `wabaId` with `PATCH /api/channels/{channelId}`.',
  },
  channel_in_use: {
    status: 409,
    meaning: 'Broadcasts use the channel to delete.',
    remedy: 'Delete them first, or disconnect the channel.',
  },
  channel_is_sandbox: {
    status: 409,
    meaning: 'The sandbox has no credentials, cannot be disconnected and cannot be deleted.',
    remedy: 'Change only its name, or use another channel.',
  },
  too_many_attempts: {
    status: 429,
    meaning: 'Four tests and repetitions of webhook endpoints are in progress.',
    remedy: 'Wait until one of them has ended.',
  },
  too_many_channels: {
    status: 409,
    meaning: 'The workspace has as many channels as it may.',
    remedy: 'Delete those that are not used.',
  },
  too_many_events: {
    status: 422,
    meaning: 'More than 100,000 events are in the time to recover.',
    remedy: 'Choose a shorter time.',
  },
  too_many_parts: {
    status: 413,
    meaning: 'A webhook call of a provider has more parts than one call may.',
    remedy: 'Send them in several calls.',
  },
  too_many_webhook_endpoints: {
    status: 409,
    meaning: 'The workspace has as many webhook endpoints as it may.',
    remedy: 'Delete those that are not used.',
  },
  webhook_body_not_kept: {
    status: 409,
    meaning: 'The body of the webhook call was not kept, so it cannot be processed again.',
    remedy: 'Ask the provider to repeat the call.',
  },
  webhook_endpoint_disabled: {
    status: 409,
    meaning: 'The webhook endpoint is disabled, so nothing is sent to it.',
    remedy: 'Enable it first.',
  },
} as const satisfies Record<string, ErrorEntry>
