/**
 * Tables whose rows belong to one tenant each and are stored with the other rows of that tenant, in an order in which
 * each table follows those that its foreign keys name. The tenant is in the column `tenant_id`.
 */
export const TENANT_TABLES = [
  'idempotency_keys',
  'api_keys',
  'contacts',
  'tags',
  'contact_tags',
  'groups',
  'group_contacts',
  'channels',
  'contact_identities',
  'conversations',
  'workflows',
  'workflow_versions',
  'schedules',
  'workflow_webhooks',
  'runs',
  'run_waits',
  'mailbox_items',
  'templates',
  'broadcasts',
  'broadcast_recipients',
  'messages',
  'provider_message_ids',
  'deleted_message_ids',
  'message_statuses',
  'outbox',
  'run_steps',
  'external_calls',
  'ai_transcripts',
  'workflow_tests',
  'tools',
  'ai_providers',
  'event_positions',
  'events',
  'trigger_evaluations',
  'dead_letters',
  'http_credentials',
  'channel_webhooks',
  'media',
  'media_writes',
  'message_media',
  'consent_entries',
  'channel_pacing',
  'channel_alerts',
  'first_contacts',
  'first_contact_hours',
  'broadcast_phones',
  'throttle_windows',
  'kept_counts',
  'kept_count_deltas',
  'provider_media',
  'webhook_endpoints',
  'webhook_deliveries',
  'webhook_bodies',
  'jobs',
  'job_items',
  'audit_events',
  'job_targets',
  'deleted_workspaces',
  'event_payloads',
  'contact_purges',
] as const

const tenantTables: ReadonlySet<string> = new Set(TENANT_TABLES)

export function isTenantTable(name: string): boolean {
  return tenantTables.has(name)
}

/** Tables that every node has a copy of: they are looked up without a tenant, and joined with the tables of tenants. */
export const REFERENCE_TABLES = [
  'users',
  'workspaces',
  'memberships',
  'channel_routes',
  'workflow_webhook_routes',
  'api_key_routes',
] as const

/** Tables that only the coordinator has. */
export const LOCAL_TABLES = [
  'credentials',
  'sessions',
  'password_resets',
  'password_reset_requests',
  'invitations',
  'known_addresses',
  'two_factors',
  'workspace_deletions',
  'rate_limits',
  'wakeups',
  'readiness_probes',
  'periodic_tasks',
  'migrations',
  'migrations_lock',
] as const
