import type { Knex } from 'knex'

/** Written as an object or as the text of any JSON value: the driver writes an array as one of PostgreSQL. */
type Json = string | { [key: string]: unknown }

/** Columns of a row, and of those the ones that an insert may leave out. */
type Table<Row, Optional extends keyof Row> = Knex.CompositeTableType<
  Row,
  Omit<Row, Optional> & Partial<Pick<Row, Optional>>
>

declare module 'knex/types/tables.js' {
  interface Tables {
    ai_providers: Table<
      {
        tenant_id: string
        id: string
        base_url: string
        model: string
        sealed_key: Buffer | null
        created_at: Date
        updated_at: Date
      },
      'sealed_key'
    >
    ai_transcripts: Table<
      {
        tenant_id: string
        run_id: string
        step_index: number
        version: number
        entries: Json
        created_at: Date
        updated_at: Date
      },
      never
    >
    api_key_routes: Table<
      { secret_hash: Buffer; tenant_id: string; api_key_id: string; expires_at: Date | null },
      'expires_at'
    >
    api_keys: Table<
      {
        tenant_id: string
        id: string
        name: string
        last_four: string
        grants: string[]
        ip_ranges: string[] | null
        channel_ids: string[] | null
        limit_per_minute: number
        created_by: Json
        known_to: string[]
        expires_at: Date | null
        previous_expires_at: Date | null
        last_used_at: Date | null
        revoked_at: Date | null
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'ip_ranges'
      | 'channel_ids'
      | 'expires_at'
      | 'previous_expires_at'
      | 'last_used_at'
      | 'revoked_at'
      | 'created_at'
      | 'updated_at'
    >
    audit_events: Table<
      {
        tenant_id: string
        id: string
        action: string
        outcome: 'succeeded' | 'refused'
        actor_type: 'user' | 'key' | 'system'
        actor_id: string | null
        targets: Json
        target_ids: string[]
        target_count: number
        fields: Json
        address: string | null
        user_agent: string | null
        request_id: string
        created_at: Date
      },
      'actor_id' | 'address' | 'user_agent'
    >
    broadcast_phones: Table<
      { tenant_id: string; broadcast_id: string; position: number; phone: string; name: string | null; params: Json },
      'name' | 'params'
    >
    broadcast_recipients: Table<
      {
        tenant_id: string
        id: string
        broadcast_id: string
        contact_id: string
        address: string | null
        digest: Buffer | null
        params: Json
        timezone: string | null
        status: 'pending' | 'sending' | 'sent' | 'delivered' | 'read' | 'failed' | 'skipped' | 'canceled' | 'unknown'
        skip_reason: string | null
        error: Json | null
        attempt: number
        due_at: Date
        message_id: string | null
        provider_message_id: string | null
        accepted_count: number
        sent_to: string | null
        sent_hash: Buffer | null
        sent_at: Date | null
        delivered_at: Date | null
        read_at: Date | null
        failed_at: Date | null
        replied_at: Date | null
        opted_out_at: Date | null
        doubted_at: Date | null
        doubt_settled_at: Date | null
        doubt_settled_by: 'provider' | 'member' | null
        created_at: Date
        updated_at: Date
      },
      | 'address'
      | 'digest'
      | 'params'
      | 'timezone'
      | 'skip_reason'
      | 'error'
      | 'attempt'
      | 'due_at'
      | 'message_id'
      | 'provider_message_id'
      | 'accepted_count'
      | 'sent_to'
      | 'sent_hash'
      | 'sent_at'
      | 'delivered_at'
      | 'read_at'
      | 'failed_at'
      | 'replied_at'
      | 'opted_out_at'
      | 'doubted_at'
      | 'doubt_settled_at'
      | 'doubt_settled_by'
    >
    broadcasts: Table<
      {
        tenant_id: string
        id: string
        name: string
        description: string | null
        status: 'draft' | 'scheduled' | 'preparing' | 'sending' | 'paused' | 'completed' | 'canceled' | 'failed'
        status_reason: string | null
        channel_id: string
        template_id: string
        params: Json
        audience: Json
        schedule: Json | null
        frequency_cap: Json | null
        requires_opt_in: boolean
        snapshot_cursor: Json | null
        snapshot_at: Date | null
        snapshot_hash: string | null
        resumed_counts: Json | null
        work_at: Date | null
        scheduled_at: Date | null
        started_at: Date | null
        completed_at: Date | null
        created_by: string | null
        created_at: Date
        updated_at: Date
        created_by_type: string | null
      },
      | 'id'
      | 'description'
      | 'status'
      | 'status_reason'
      | 'params'
      | 'audience'
      | 'schedule'
      | 'frequency_cap'
      | 'requires_opt_in'
      | 'snapshot_cursor'
      | 'snapshot_at'
      | 'snapshot_hash'
      | 'resumed_counts'
      | 'work_at'
      | 'scheduled_at'
      | 'started_at'
      | 'completed_at'
      | 'created_by'
      | 'created_at'
      | 'updated_at'
      | 'created_by_type'
    >
    channel_alerts: Table<{ tenant_id: string; id: string; channel_id: string; code: string; created_at: Date }, never>
    channel_pacing: Table<
      { tenant_id: string; channel_id: string; tokens: number; refilled_at: Date; answering_at: Date | null },
      'answering_at'
    >
    channel_routes: Table<{ channel_id: string; tenant_id: string }, never>
    channel_webhooks: Table<
      {
        tenant_id: string
        id: string
        channel_id: string
        body: Buffer
        status: 'processed' | 'pending' | 'failed' | 'rejected'
        outcome: Json | null
        error: Json | null
        attempts: number
        due_at: Date | null
        created_at: Date
      },
      'outcome' | 'error' | 'due_at'
    >
    channels: Table<
      {
        tenant_id: string
        id: string
        kind: 'sandbox' | 'whatsapp'
        name: string
        status: 'connected' | 'degraded' | 'disconnected'
        status_reason: string | null
        phone_number: string | null
        settings: Json
        credentials: Buffer | null
        quality: 'green' | 'yellow' | 'red' | 'unknown' | null
        messaging_limit: string | null
        throughput: number | null
        last_alert: Json | null
        paused_until: Date | null
        broadcasts_per_second: number
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'status'
      | 'status_reason'
      | 'phone_number'
      | 'settings'
      | 'credentials'
      | 'quality'
      | 'messaging_limit'
      | 'throughput'
      | 'last_alert'
      | 'paused_until'
      | 'broadcasts_per_second'
      | 'created_at'
      | 'updated_at'
    >
    consent_entries: Table<
      {
        tenant_id: string
        id: string
        contact_id: string
        purpose: 'marketing' | 'service'
        state: 'unknown' | 'opted_in' | 'opted_out'
        source: 'api' | 'keyword' | 'import' | 'workflow' | 'provider' | 'manual'
        actor: Json
        text: string | null
        keyword: string | null
        channel_id: string | null
        message_id: string | null
        created_at: Date
      },
      'id' | 'text' | 'keyword' | 'channel_id' | 'message_id' | 'created_at'
    >
    contact_identities: Table<
      {
        tenant_id: string
        id: string
        contact_id: string
        channel_id: string
        kind: 'phone' | 'bsuid' | 'parent_bsuid'
        value: string
        created_at: Date
      },
      'id' | 'created_at'
    >
    contact_purges: Table<{ tenant_id: string; contact_id: string; counts: Json; deleted_at: Date }, never>
    contact_tags: Table<{ tenant_id: string; contact_id: string; tag_id: string; created_at: Date }, 'created_at'>
    contacts: Table<
      {
        tenant_id: string
        id: string
        name: string
        phone: string | null
        phone_key: string | null
        email: string | null
        username: string | null
        external_id: string | null
        language: string | null
        country: string | null
        timezone: string | null
        fields: Json
        marketing_consent: 'unknown' | 'opted_in' | 'opted_out'
        consent_source: string | null
        consent_at: Date | null
        service_consent: 'unknown' | 'opted_in' | 'opted_out'
        service_consent_at: Date | null
        blocked: boolean
        source: 'api' | 'import' | 'inbound' | 'manual' | 'workflow'
        pair_limited_until_ms: number | null
        last_inbound_at: Date | null
        last_outbound_at: Date | null
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'phone'
      | 'phone_key'
      | 'email'
      | 'username'
      | 'external_id'
      | 'language'
      | 'country'
      | 'timezone'
      | 'fields'
      | 'marketing_consent'
      | 'consent_source'
      | 'consent_at'
      | 'service_consent'
      | 'service_consent_at'
      | 'blocked'
      | 'source'
      | 'pair_limited_until_ms'
      | 'last_inbound_at'
      | 'last_outbound_at'
      | 'created_at'
      | 'updated_at'
    >
    conversations: Table<
      {
        tenant_id: string
        id: string
        contact_id: string
        channel_id: string
        status: 'active' | 'snoozed' | 'closed'
        assignee_id: string | null
        unread_count: number
        last_message: Json | null
        last_message_at: Date | null
        last_inbound_at: Date | null
        window_expires_at: Date | null
        automation_state: 'on' | 'paused'
        automation_reason: 'human_reply' | 'handoff' | 'manual' | 'opt_out' | null
        automation_until: Date | null
        handoff_reason: string | null
        snoozed_until: Date | null
        closed_at: Date | null
        reopen_count: number
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'status'
      | 'assignee_id'
      | 'unread_count'
      | 'last_message'
      | 'last_message_at'
      | 'last_inbound_at'
      | 'window_expires_at'
      | 'automation_state'
      | 'automation_reason'
      | 'automation_until'
      | 'handoff_reason'
      | 'snoozed_until'
      | 'closed_at'
      | 'reopen_count'
      | 'created_at'
      | 'updated_at'
    >
    credentials: Table<{ user_id: string; password_hash: string; updated_at: Date }, 'updated_at'>
    dead_letters: Table<
      {
        tenant_id: string
        id: string
        mailbox_kind: 'conversation' | 'contact' | 'run'
        mailbox_id: string
        kind: string
        payload: Json
        contact_id: string | null
        conversation_id: string | null
        run_id: string | null
        workflow_id: string | null
        error: Json
        attempts: number
        created_at: Date
        failed_at: Date
      },
      'contact_id' | 'conversation_id' | 'run_id' | 'workflow_id'
    >
    deleted_message_ids: Table<{ tenant_id: string; hash: Buffer; expires_at: Date }, never>
    deleted_workspaces: Table<{ tenant_id: string }, never>
    event_payloads: Table<{ tenant_id: string; event_id: string; contact_id: string; payload: Json }, never>
    event_positions: Table<{ tenant_id: string; position: number }, never>
    events: Table<
      { tenant_id: string; id: string; position: number | null; type: string; data: Json; created_at: Date },
      'position'
    >
    external_calls: Table<
      {
        tenant_id: string
        run_id: string
        step_index: number
        attempt: number
        step_id: string
        epoch: number
        timeout_ms: number | null
        request: Json
        claim_count: number
        due_at: Date
        created_at: Date
        traceparent: string | null
      },
      'timeout_ms' | 'claim_count' | 'traceparent'
    >
    first_contact_hours: Table<{ tenant_id: string; hour: Date; count: number }, never>
    first_contacts: Table<{ tenant_id: string; contact_id: string; counted_at: Date }, never>
    group_contacts: Table<{ tenant_id: string; group_id: string; contact_id: string; created_at: Date }, 'created_at'>
    groups: Table<
      { tenant_id: string; id: string; name: string; description: string | null; created_at: Date; updated_at: Date },
      'id' | 'description' | 'created_at' | 'updated_at'
    >
    http_credentials: Table<
      {
        tenant_id: string
        id: string
        name: string
        placement: Json
        allowed_hosts: string[]
        sealed_secret: Buffer
        last_four: string | null
        last_used_at: Date | null
        created_at: Date
        updated_at: Date
      },
      'last_four' | 'last_used_at'
    >
    idempotency_keys: Table<
      {
        tenant_id: string
        route: string
        key: string
        request_hash: Buffer
        response: Json | null
        created_at: Date
        caller_id: string
      },
      'response' | 'caller_id'
    >
    invitations: Table<
      {
        id: string
        workspace_id: string
        email: string
        role: 'owner' | 'admin' | 'agent' | 'viewer'
        status: 'pending' | 'accepted' | 'revoked'
        invited_by: string
        token_hash: Buffer | null
        page: string | null
        email_count: number
        emails_since: Date
        attempts: number
        due_at: Date | null
        created_at: Date
        invited_at: Date
        expires_at: Date
      },
      'token_hash' | 'page' | 'attempts' | 'due_at'
    >
    job_items: Table<
      {
        tenant_id: string
        job_id: string
        line: number
        status: 'created' | 'updated' | 'unchanged' | 'failed'
        target_id: string | null
        error: Json | null
      },
      'target_id' | 'error'
    >
    job_targets: Table<{ tenant_id: string; job_id: string; line: number; target_id: string }, never>
    jobs: Table<
      {
        tenant_id: string
        id: string
        type: string
        status: 'queued' | 'running' | 'completed' | 'failed' | 'canceled'
        input: Json
        digest: Buffer | null
        cursor: Json | null
        portions: number
        has_file: boolean
        total: number
        created_count: number
        updated_count: number
        unchanged_count: number
        failed_count: number
        attempts: number
        error: Json | null
        actor: Json
        work_at: Date | null
        progress_at: Date | null
        started_at: Date | null
        finished_at: Date | null
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'digest'
      | 'cursor'
      | 'portions'
      | 'has_file'
      | 'created_count'
      | 'updated_count'
      | 'unchanged_count'
      | 'failed_count'
      | 'attempts'
      | 'error'
      | 'work_at'
      | 'progress_at'
      | 'started_at'
      | 'finished_at'
      | 'created_at'
      | 'updated_at'
    >
    kept_count_deltas: Table<
      { tenant_id: string; readonly seq: number; counter: string; owner_id: string; key: string; delta: number },
      'seq'
    >
    kept_counts: Table<
      { tenant_id: string; counter: string; owner_id: string; key: string; count: number; counted_at: Date | null },
      'counted_at'
    >
    known_addresses: Table<{ user_id: string; address_hash: Buffer; seen_at: Date }, never>
    mailbox_items: Table<
      {
        tenant_id: string
        mailbox_kind: 'conversation' | 'contact' | 'run'
        mailbox_id: string
        id: string
        kind: string
        payload: Json
        attempts: number
        due_at: Date
        retry_at: Date | null
        created_at: Date
        traceparent: string | null
      },
      'attempts' | 'retry_at' | 'traceparent'
    >
    media: Table<
      {
        tenant_id: string
        id: string
        sha256: string
        mime_type: string
        bytes: number
        filename: string | null
        is_animated: boolean | null
        created_at: Date
      },
      'filename' | 'is_animated'
    >
    media_writes: Table<{ tenant_id: string; id: string; created_at: Date }, never>
    memberships: Table<
      {
        workspace_id: string
        user_id: string
        role: 'owner' | 'admin' | 'agent' | 'viewer'
        last_assigned_at: Date | null
        created_at: Date
      },
      'last_assigned_at' | 'created_at'
    >
    message_media: Table<
      {
        tenant_id: string
        message_id: string
        channel_id: string
        provider_media_id: string
        mime_type: string | null
        filename: string | null
        sha256: string | null
        status: 'pending' | 'stored' | 'failed'
        media_id: string | null
        error: string | null
        attempts: number
        due_at: Date | null
        created_at: Date
      },
      'mime_type' | 'filename' | 'sha256' | 'media_id' | 'error' | 'attempts' | 'due_at'
    >
    message_statuses: Table<
      {
        tenant_id: string
        id: string
        channel_id: string
        provider_message_id: string
        message_id: string | null
        status: 'sent' | 'delivered' | 'read' | 'played' | 'failed'
        error: Json | null
        provider_at: Date
        created_at: Date
      },
      'message_id' | 'error'
    >
    messages: Table<
      {
        tenant_id: string
        id: string
        conversation_id: string
        contact_id: string
        channel_id: string
        direction: 'inbound' | 'outbound' | 'internal'
        type: string
        body: string | null
        content: Json | null
        category: 'marketing' | 'utility' | 'authentication' | null
        status:
          | 'received'
          | 'scheduled'
          | 'queued'
          | 'sending'
          | 'sent'
          | 'delivered'
          | 'read'
          | 'played'
          | 'failed'
          | 'canceled'
        error: Json | null
        sender: Json
        run_id: string | null
        step_id: string | null
        broadcast_id: string | null
        recipient_id: string | null
        reply_to_id: string | null
        provider_message_id: string | null
        provider_at: Date | null
        send_at: Date | null
        release_at: Date | null
        sent_at: Date | null
        delivered_at: Date | null
        read_at: Date | null
        failed_at: Date | null
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'type'
      | 'body'
      | 'content'
      | 'category'
      | 'error'
      | 'run_id'
      | 'step_id'
      | 'broadcast_id'
      | 'recipient_id'
      | 'reply_to_id'
      | 'provider_message_id'
      | 'provider_at'
      | 'send_at'
      | 'release_at'
      | 'sent_at'
      | 'delivered_at'
      | 'read_at'
      | 'failed_at'
      | 'created_at'
      | 'updated_at'
    >
    outbox: Table<
      {
        tenant_id: string
        channel_id: string
        conversation_id: string
        message_id: string
        priority: number
        attempts: number
        not_before: Date
        leased_at: Date | null
        created_at: Date
        traceparent: string | null
      },
      'priority' | 'attempts' | 'leased_at' | 'traceparent'
    >
    password_reset_requests: Table<
      { email: string; page: string | null; attempts: number; due_at: Date },
      'page' | 'attempts'
    >
    password_resets: Table<{ token_hash: Buffer; user_id: string; created_at: Date; expires_at: Date }, never>
    periodic_tasks: Table<{ name: string; ran_at: Date; next_at: Date }, never>
    provider_media: Table<
      { tenant_id: string; media_id: string; channel_id: string; provider_media_id: string; expires_at: Date },
      never
    >
    provider_message_ids: Table<
      { tenant_id: string; channel_id: string; provider_message_id: string; message_id: string; created_at: Date },
      never
    >
    rate_limits: Table<{ key: string; points: number; expire: number | null }, 'points' | 'expire'>
    readiness_probes: Table<{ id: string; checked_at: Date; padding: string }, never>
    run_steps: Table<
      {
        tenant_id: string
        id: string
        run_id: string
        index: number
        step_id: string
        name: string | null
        type: string
        path: string
        iteration: number
        attempt: number
        status: 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'canceled'
        input: Json | null
        output: Json | null
        error: Json | null
        branch: string | null
        reused_from_id: string | null
        simulated: boolean
        message_id: string | null
        waiting_until: Date | null
        started_at: Date
        finished_at: Date | null
      },
      | 'name'
      | 'iteration'
      | 'attempt'
      | 'input'
      | 'output'
      | 'error'
      | 'branch'
      | 'reused_from_id'
      | 'simulated'
      | 'message_id'
      | 'waiting_until'
      | 'finished_at'
    >
    run_waits: Table<
      {
        tenant_id: string
        run_id: string
        mailbox_kind: 'conversation' | 'contact' | 'run'
        mailbox_id: string
        epoch: number
        due_at: Date | null
        created_at: Date
      },
      'due_at'
    >
    runs: Table<
      {
        tenant_id: string
        id: string
        workflow_id: string
        workflow_version: number
        is_draft: boolean | null
        contact_id: string | null
        conversation_id: string | null
        parent_run_id: string | null
        mailbox_run_id: string | null
        replay_of: string | null
        root_run_id: string
        replay_from_step_id: string | null
        status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' | 'expired'
        mode: 'live' | 'dry_run'
        trigger: Json
        trigger_event_id: string
        started_by: Json
        state: Json
        input: Json | null
        output: Json | null
        error: Json | null
        depth: number
        epoch: number
        steps_count: number
        messages_sent: number
        waiting_for: 'reply' | 'timer' | 'event' | 'result' | null
        waiting_until: Date | null
        waiting_step_id: string | null
        queued_at: Date
        started_at: Date | null
        finished_at: Date | null
        created_at: Date
      },
      | 'is_draft'
      | 'contact_id'
      | 'conversation_id'
      | 'parent_run_id'
      | 'mailbox_run_id'
      | 'replay_of'
      | 'replay_from_step_id'
      | 'mode'
      | 'input'
      | 'output'
      | 'error'
      | 'depth'
      | 'epoch'
      | 'steps_count'
      | 'messages_sent'
      | 'waiting_for'
      | 'waiting_until'
      | 'waiting_step_id'
      | 'started_at'
      | 'finished_at'
    >
    schedules: Table<
      {
        tenant_id: string
        workflow_id: string
        key: string
        cron: string | null
        at: Date | null
        timezone: string
        group_id: string | null
        next_at: Date | null
        cursor: string | null
        created_at: Date
      },
      'cron' | 'at' | 'group_id' | 'next_at' | 'cursor'
    >
    sessions: Table<
      {
        id: string
        user_id: string
        token_hash: Buffer
        previous_token_hash: Buffer | null
        ip_address: string | null
        user_agent: string | null
        created_at: Date
        renewed_at: Date
        confirmed_at: Date | null
        expires_at: Date
      },
      'previous_token_hash' | 'ip_address' | 'user_agent' | 'confirmed_at'
    >
    tags: Table<
      {
        tenant_id: string
        id: string
        name: string
        color: string
        description: string | null
        created_at: Date
        updated_at: Date
      },
      'id' | 'color' | 'description' | 'created_at' | 'updated_at'
    >
    templates: Table<
      {
        tenant_id: string
        id: string
        channel_id: string
        name: string
        language: string
        category: 'marketing' | 'utility' | 'authentication'
        suggested_category: 'marketing' | 'utility' | 'authentication' | null
        status:
          'draft' | 'pending' | 'approved' | 'rejected' | 'paused' | 'disabled' | 'in_appeal' | 'archived' | 'deleted'
        status_reported_at: Date | null
        rejection_reason: string | null
        quality: 'green' | 'yellow' | 'red' | null
        body: string
        components: Json
        parameter_format: 'named' | 'positional' | null
        provider_template_id: string | null
        submitted_at: Date | null
        last_synced_at: Date | null
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'suggested_category'
      | 'status_reported_at'
      | 'rejection_reason'
      | 'quality'
      | 'parameter_format'
      | 'provider_template_id'
      | 'submitted_at'
      | 'last_synced_at'
      | 'created_at'
      | 'updated_at'
    >
    throttle_windows: Table<{ tenant_id: string; key: Buffer; count: number; ends_at: Date }, never>
    tools: Table<
      {
        tenant_id: string
        id: string
        name: string
        title: string
        description: string
        input_schema: Json
        output_schema: Json
        effect: 'read' | 'write' | 'external_send'
        config: Json
        sealed_headers: Buffer | null
        enabled: boolean
        created_at: Date
        updated_at: Date
      },
      'sealed_headers' | 'enabled'
    >
    trigger_evaluations: Table<
      {
        tenant_id: string
        id: string
        contact_id: string | null
        conversation_id: string | null
        event: Json
        evaluations: Json
        created_at: Date
      },
      'contact_id' | 'conversation_id'
    >
    two_factors: Table<
      {
        user_id: string
        sealed_secret: Buffer
        recovery_hashes: Buffer[]
        last_step: number
        enabled_at: Date | null
        created_at: Date
      },
      'last_step' | 'enabled_at'
    >
    users: Table<
      {
        id: string
        email: string
        name: string
        image: string | null
        email_verified: boolean
        created_at: Date
        updated_at: Date
      },
      'id' | 'image' | 'email_verified' | 'created_at' | 'updated_at'
    >
    wakeups: Table<{ task: string; tenant_id: string; key: string; created_at: Date }, 'created_at'>
    webhook_bodies: Table<
      { tenant_id: string; delivery_id: string; contact_id: string | null; body: Buffer },
      'contact_id'
    >
    webhook_deliveries: Table<
      {
        tenant_id: string
        id: string
        endpoint_id: string
        event_id: string
        type: string
        data: Json
        position: number
        event_at: Date
        status: 'delivered' | 'waiting' | 'failed'
        attempt_count: number
        attempts: Json
        due_at: Date | null
        delivered_at: Date | null
        created_at: Date
        updated_at: Date
      },
      'id' | 'due_at' | 'delivered_at' | 'created_at' | 'updated_at'
    >
    webhook_endpoints: Table<
      {
        tenant_id: string
        id: string
        url: string
        description: string | null
        types: string[] | null
        payload: 'full' | 'thin'
        secret: Buffer
        previous_secret: Buffer | null
        previous_expires_at: Date | null
        status: 'enabled' | 'disabled'
        disabled_reason: 'requested' | 'failures' | 'gone' | null
        position: number
        due_at: Date | null
        paused_until: Date | null
        failing_since: Date | null
        failed_at: Date | null
        gap_at: Date | null
        leased_until: Date | null
        claim_count: number
        email_due_at: Date | null
        email_attempts: number
        created_by: Json
        deleted_at: Date | null
        created_at: Date
        updated_at: Date
      },
      | 'id'
      | 'description'
      | 'types'
      | 'previous_secret'
      | 'previous_expires_at'
      | 'disabled_reason'
      | 'due_at'
      | 'paused_until'
      | 'failing_since'
      | 'failed_at'
      | 'gap_at'
      | 'leased_until'
      | 'claim_count'
      | 'email_due_at'
      | 'email_attempts'
      | 'deleted_at'
      | 'created_at'
      | 'updated_at'
    >
    workflow_tests: Table<
      {
        tenant_id: string
        id: string
        workflow_id: string
        name: string
        trigger: Json | null
        input: Json | null
        dialogue: Json
        step_outputs: Json
        contact: Json | null
        starts_at: Date
        opens_conversation: boolean
        expectation: Json
        source_run_id: string | null
        created_by: string | null
        created_at: Date
        updated_at: Date
        created_by_type: string | null
      },
      'trigger' | 'input' | 'contact' | 'source_run_id' | 'created_by' | 'created_by_type'
    >
    workflow_versions: Table<
      {
        tenant_id: string
        workflow_id: string
        version: number
        hash: string
        definition: Json
        compiled: Json
        note: string | null
        published_by: string | null
        published_at: Date
      },
      'note' | 'published_by'
    >
    workflow_webhook_routes: Table<{ webhook_id: string; tenant_id: string }, never>
    workflow_webhooks: Table<
      {
        tenant_id: string
        id: string
        workflow_id: string
        secret: Buffer | null
        rotated_at: Date | null
        created_at: Date
      },
      'secret' | 'rotated_at'
    >
    workflows: Table<
      {
        tenant_id: string
        id: string
        name: string
        description: string | null
        status: 'draft' | 'published' | 'paused' | 'archived'
        draft: Json
        draft_revision: number
        draft_hash: string | null
        draft_hash_revision: number | null
        version: number | null
        published_at: Date | null
        created_by: string | null
        created_at: Date
        updated_at: Date
        created_by_type: string | null
        key: string | null
      },
      | 'id'
      | 'description'
      | 'status'
      | 'draft'
      | 'draft_revision'
      | 'draft_hash'
      | 'draft_hash_revision'
      | 'version'
      | 'published_at'
      | 'created_by'
      | 'created_at'
      | 'updated_at'
      | 'created_by_type'
      | 'key'
    >
    workspace_deletions: Table<
      {
        workspace_id: string
        name: string
        owner_ids: string[]
        deleted_by: string
        address: string | null
        user_agent: string | null
        request_id: string
        place: number
        counts: Json
        files: number
        deleted_at: Date
        started_at: Date | null
        finished_at: Date | null
      },
      'address' | 'user_agent' | 'place' | 'counts' | 'files' | 'started_at' | 'finished_at'
    >
    workspaces: Table<
      {
        id: string
        name: string
        timezone: string
        consent_keywords: Json | null
        retention: Json | null
        created_at: Date
        updated_at: Date
        language: string | null
        country: string | null
        deleted_at: Date | null
      },
      | 'id'
      | 'timezone'
      | 'consent_keywords'
      | 'retention'
      | 'created_at'
      | 'updated_at'
      | 'language'
      | 'country'
      | 'deleted_at'
    >
  }
}
