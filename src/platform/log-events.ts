/**
 * The field `event` of log lines of level `warn` and `error`, and of the end of a purge, with what the line means and what to do about it. Names
 * never change, because alerts depend on them; the message of a line may. docs/operations.md lists them.
 */
export const LOG_EVENTS = {
  api_key_use_unrecorded: 'The time of the last use of an API key was not stored. The next use stores it.',
  assignment_unmatched:
    'A workflow assigns conversations to a person or role that the workspace does not have. Its author changes the step.',
  audit_unrecorded: 'A refused attempt is missing in the audit log of a workspace.',
  clock_differs: 'The clock of this machine differs from that of the database by more than a second. Synchronize both.',
  clock_unreadable: 'The time of the database could not be read and is read again after 10 seconds.',
  compute_thread_failed: 'A thread for checks and simulations ended without a task. Another one starts.',
  connection_close_failed: 'A connection could not be closed during a stop or a failed start.',
  console_not_built:
    'The console cannot be built or read; `/console` says so, and nothing else is affected. The packages for development build it.',
  contact_data_lost: 'A kept event cannot be decrypted and is not sent. Restore the `SECRET_KEY` that encrypted it.',
  contact_purged: 'All rows of a deleted contact are gone. `rows` has their numbers by table.',
  cross_site_origin:
    'The front end is on another site than the API, so that browsers send it no cookie. Use one site, or API keys.',
  database_fsync_off: 'A power failure loses acknowledged data. Switch `fsync` on in the database.',
  database_newer: 'The database has migrations of a newer version. Upgrade this process, too.',
  database_primary_changed: 'Another database server is the primary now.',
  dead_letters_waiting: 'Messages, events or timers failed five times. [Retry or discard them](#dead-letters).',
  deliveries_not_found:
    'The events of a workspace for its webhook endpoints could not be looked up. The next look follows within 30 seconds.',
  dependency_unavailable:
    'A request was answered with 503, because the database, Redis or the file store did not answer.',
  disk_low: 'Files are refused until there is more space. Free some, or move the folder.',
  email_failed: 'An email was not accepted by the SMTP server. It is sent again, up to 25 times. Check `SMTP_URL`.',
  events_missed:
    'A webhook endpoint was behind for longer than events are kept. Its owner has the gap in the next event.',
  external_call_failed: 'A call of a workflow to another system failed because of an internal error. Report it.',
  external_call_unrecorded: 'The result of a call to another system could not be stored. The call may be repeated.',
  file_delete_failed: 'A file could not be deleted and is deleted later.',
  file_fetch_failed: 'A file that a customer sent could not be fetched from the provider and is tried again.',
  file_upload_failed:
    'A file could not be uploaded to the provider, or the copy that the provider had lost could not be forgotten.',
  guess_failed: 'A sign-in or another check of a password or code failed. Many from one `network` are an attack.',
  job_failed: 'A background job failed. Periodic tasks find what is still due.',
  job_line_failed: 'A line of an import or bulk job cannot be stored and is reported as failed in its results.',
  job_portion_failed: 'A portion of an import or bulk job failed and is tried again.',
  job_portion_split: 'A portion of an import or bulk job is stored in parts, to find the lines that fail.',
  jobs_not_claimed: 'The queue of jobs could not be read. `/readyz` answers 503 if this lasts.',
  jobs_not_stored: 'Jobs could not be stored. Periodic tasks find what is due, up to 30 seconds later.',
  load_rejected:
    'Requests exceed a [bound](#protection-against-overload) of this process. Add processes if the load is genuine.',
  mailbox_failed:
    'A message, event or timer could not be processed and is tried again. `itemId` is its dead letter after five attempts.',
  mailbox_postponed: 'A message, event or timer waits for the end of an outage.',
  migration_waits: 'A migration could not lock a table and is tried again. End long transactions.',
  notifications_lost:
    'Notifications between processes were lost. Subscribers find what they announced, a few seconds later.',
  periodic_task_failed: 'A periodic task, `task`, failed and is repeated. Report it if it goes on.',
  process_stuck:
    'Background work is stuck although the database answers. The process ends, so that a supervisor starts another one.',
  read_receipt_failed: 'The provider did not accept that a message was read.',
  redis_unreachable: 'Redis does not answer. Each process counts limits by itself until it does.',
  request_failed: 'A request was answered with 500, or its answer broken off. Report it with its line.',
  resource_missing: 'The object of an event could not be read, so that the webhook is sent without it. Report it.',
  retention_failed: 'Old rows could not be deleted and are tried again.',
  schedule_failed: 'A scheduled workflow could not be started and is tried again.',
  schedule_skipped: 'A schedule was due too long ago and waits for its next time.',
  secret_unreadable: 'The secret of a second factor cannot be decrypted. Restore the `SECRET_KEY` that encrypted it.',
  send_unrecorded:
    'A message was sent and its outcome could not be stored: it becomes `delivery_unknown` and is not sent again.',
  shutdown_failed: 'The process ended without closing everything. What was in flight is found again by others.',
  statuses_late: 'Delivery statuses, or further messages of a channel, wait for the periodic task.',
  traces_not_sent:
    'Spans could not be sent to `OTEL_EXPORTER_OTLP_ENDPOINT` and are lost. Nothing else is affected. Check the receiver.',
  unhandled_rejection: 'A programming error. Report it.',
  webhook_failed: 'A call of the provider could not be processed. It is kept and processed again.',
  workflow_broken:
    'A published workflow cannot be executed completely, `problems` says why. Its author publishes it again.',
  workspace_purged:
    'Level `info`: nothing of a deleted workspace is left. The line has the number of rows of each table and of files.',
  workspace_purge_restarted: 'Rows were added to a deleted workspace while it was purged. The purge starts again.',
} as const

export type LogEvent = keyof typeof LOG_EVENTS
