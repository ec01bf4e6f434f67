import type pg from 'pg'

/** The statuses, as `s`, that are not on their message although the provider's ID of it is known. */
export const UNATTACHED_STATUSES = `message_statuses s
  join provider_message_ids r on r.tenant_id = s.tenant_id and r.channel_id = s.channel_id
    and r.provider_message_id = s.provider_message_id
  where s.message_id is null`

export async function listUnattachedStatuses(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<[string]>({
    text: `select s.status || ' of ' || s.provider_message_id from ${UNATTACHED_STATUSES}`,
    rowMode: 'array',
  })
  return rows.map(([text]) => text)
}
