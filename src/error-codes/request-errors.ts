import type { CodeEntry, ErrorEntry } from './entry.ts'

/** Errors that any call can have. */
export const REQUEST_ERRORS = {
  bad_request: {
    status: 400,
    meaning: 'The server cannot read the request: it is not valid HTTP, or not a call of tRPC.',
    remedy: 'Send the request with a client for HTTP or tRPC.',
  },
  batch_too_large: {
    status: 413,
    meaning: 'The answers of a tRPC batch have more than 8 MB together.',
    remedy: 'Repeat this call in another batch, or read smaller pages.',
  },
  body_too_large: {
    status: 413,
    meaning: 'The request body or the uploaded file has more bytes than the operation takes.',
    remedy: 'Send less at once. The text of the error states the limit.',
  },
  budget_exceeded: {
    status: 422,
    meaning: 'A check, a simulation, a count or the filling in of placeholders needs more work than one call may.',
    remedy:
      'Ask for fewer days of usage. Use shorter lists and texts, fewer placeholders and filters, or simpler patterns.',
  },
  headers_too_large: {
    status: 431,
    meaning: 'The request headers are larger than the server takes.',
    remedy: 'Send fewer or shorter headers, such as fewer cookies.',
  },
  host_not_allowed: {
    status: 400,
    meaning: 'The request names a host under which the server does not serve the API.',
    remedy: 'Ask the operator to add the name to `PUBLIC_HOSTS`.',
  },
  idempotency_in_progress: {
    status: 409,
    meaning: 'A request with the same `Idempotency-Key` is still being executed.',
    remedy: 'Send it again after the seconds in `Retry-After` to get its answer.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The `Idempotency-Key` was used with another request.',
    remedy: 'Use a new key for a new request.',
  },
  input_too_complex: {
    status: 400,
    meaning: 'The JSON has too many values or names, or is nested too deep.',
    remedy: 'Split the input. The text of the error states the limit.',
  },
  internal: {
    status: 500,
    meaning: 'The server failed unexpectedly.',
    remedy: 'Send the request again. If the error stays, report the request ID that the text quotes.',
  },
  invalid_idempotency_key: {
    status: 400,
    meaning: 'The `Idempotency-Key` is empty, too long or has characters that are not allowed.',
    remedy: 'Send 1 to 255 printable ASCII characters without spaces, such as a UUID.',
  },
  invalid_json: {
    status: 400,
    meaning: 'The request body is not valid JSON, or is not an object.',
    remedy: 'Send one JSON object in UTF-8.',
  },
  invalid_pagination: {
    status: 400,
    meaning: '`limit`, `offset` or `cursor` of a list is not valid.',
    remedy:
      'Send a `limit` from 1 to 100 and an `offset` from 0, or the `nextCursor` of the previous page of the same list.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not take this method.',
    remedy: 'Use a method that the header `Allow` lists. With tRPC, call queries with GET and mutations with POST.',
  },
  not_found: {
    status: 404,
    meaning: 'The path does not exist, or the ID names nothing in this workspace.',
    remedy: 'Check the path and the ID, and that `x-tenant-id` names the workspace that has it.',
  },
  provider_error: {
    status: 502,
    meaning:
      'The provider of the channel refused the request, cannot be reached or sent an answer that cannot be read.',
    remedy: 'Follow the text, which quotes the provider. `details` has its error code, if it sent one.',
  },
  rate_limited: {
    status: 429,
    meaning: 'A rate limit is exceeded. The body of the response has no code.',
    remedy: 'Send the request again after the seconds in `Retry-After`.',
  },
  request_timeout: {
    status: 408,
    meaning: 'The request or the file arrives too slowly.',
    remedy: 'Send it again, for a file on a faster connection.',
  },
  too_many_keyed_answers: {
    status: 429,
    meaning: 'The answers of a day to requests with an `Idempotency-Key` exceed the limit of the workspace.',
    remedy: 'Send the request without a key, or after the seconds in `Retry-After`.',
  },
  too_many_subscriptions: {
    status: 429,
    meaning: 'The user, the API key or the network has too many open subscriptions.',
    remedy: 'Close subscriptions that are not used, and connect again after the seconds in `Retry-After`.',
  },
  unavailable: {
    status: 503,
    meaning: 'The database is unreachable, or the server does too much at the moment.',
    remedy: 'Send the request again after the seconds in `Retry-After`.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The request body has a type or an encoding that the operation does not read.',
    remedy: 'Send JSON as `application/json` in UTF-8 and without a content encoding.',
  },
  validation_failed: {
    status: 400,
    meaning: 'A field is missing, has an invalid value or is not a field of this request.',
    remedy: 'Correct the fields that `details` lists by their paths.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Errors of jobs and of imports, which are jobs. */
export const JOB_ERRORS = {
  count_differs: {
    status: 409,
    meaning: 'The filter finds another number of runs than `expectedCount`. `details` has the number.',
    remedy: 'Look at the runs with `GET /api/runs`, and change the filter or `expectedCount`.',
  },
  csv_invalid: {
    status: 400,
    meaning: 'The file is not valid CSV, or its columns cannot be assigned.',
    remedy: 'Correct the file or the `mapping` as the text of the error says.',
  },
  dry_run_too_large: {
    status: 413,
    meaning: 'Too many rows of the file are about the same contacts for a dry run.',
    remedy: 'Split the file.',
  },
  job_status_conflict: {
    status: 409,
    meaning: 'The job to cancel has ended.',
    remedy: 'Read its results instead.',
  },
  too_many_jobs: {
    status: 409,
    meaning: 'The workspace has as many queued and running jobs as it may.',
    remedy: 'Wait until one has ended, or cancel one.',
  },
  too_many_rows: {
    status: 413,
    meaning: 'The file has more rows than one import takes.',
    remedy: 'Split the file, or remove its empty rows.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Codes of items that fail by themselves, in the results of calls for many and of jobs. Items have the codes of errors, too. */
export const ITEM_CODES = {
  contact_ambiguous: {
    meaning: 'Several contacts match the item.',
    remedy: 'Match by another field, or name the contact by its ID.',
  },
  contact_changed: {
    meaning: 'The contact was changed or deleted while the item was processed.',
    remedy: 'Send the item again.',
  },
  not_storable: {
    meaning: 'The database does not take a value of the line.',
    remedy: 'Change the value, and send the line again.',
  },
  phone_differs: {
    meaning: 'The contact with this external ID has another phone number.',
    remedy: 'Change the number with `PATCH /api/contacts/{contactId}`.',
  },
  row_invalid: {
    meaning: 'A cell of the row is not valid for its column.',
    remedy: 'Correct the row as the reason says, and import it again.',
  },
} as const satisfies Record<string, CodeEntry>
