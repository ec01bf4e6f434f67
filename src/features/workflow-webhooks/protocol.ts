/** What senders have to know, for the document of the API: their door is no operation of it. */
export const WEBHOOK_PROTOCOL = `Callers POST JSON, at most 1 MB, to \`webhookPath\`; workflows read it as \`{{input}}\`.
They send the secret as \`Authorization: Bearer <secret>\`, or sign with it: \`X-Parley-Signature: t=<unix seconds>,v1=<hex>\`,
an HMAC-SHA256 over \`<t>.\` and the bytes of the body, at most 5 minutes off.
The answer is 202 \`{"runId"}\`; 200 \`{"runId": null, "duplicate": true}\` if a call with the same \`dedupeKey\` started a run before;
401 for a wrong secret; 409 \`workflow_not_published\` or \`already_running\`; 422 if \`contact.phone\` or \`dedupeKey\` come to nothing usable.
Without a \`dedupeKey\` every call is a run of its own, also one that is sent again.`
