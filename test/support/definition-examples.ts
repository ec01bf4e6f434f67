export const ID = '0199c0de-ffff-7000-8000-000000000000'
export const yes = { left: '{{contact.name}}', op: 'eq', right: 1 }
const conditions = [
  yes,
  { left: '{{contact.email}}', op: 'exists' },
  { all: [yes, { any: [yes, { not: yes }] }] },
  { left: '{{contact.tags}}', op: 'has_tag', right: ['a'] },
]

/** Well-formed triggers of every type. */
export const triggers: Record<string, object[]> = {
  message_received: [
    {},
    { match: { mode: 'any' } },
    { channelId: ID, match: { mode: 'regex', values: ['^a'] }, first: true, if: yes, priority: -2 },
  ],
  conversation_opened: [{}, ...conditions.map((condition) => ({ if: condition }))],
  contact_created: [{ if: yes }],
  conversation_closed: [{}],
  contact_updated: [{}, { fields: ['email', 'fields.plan'], if: yes }],
  tag_added: [{ tag: 'vip' }],
  tag_removed: [{ tag: 'vip', if: yes }],
  group_joined: [{ groupId: ID }],
  group_left: [{ groupId: ID, if: yes }],
  broadcast_replied: [{}, { broadcastId: ID, within: '1d', match: { mode: 'contains', values: ['yes'] }, if: yes }],
  api: [{}],
  manual: [{ if: yes }],
  schedule: [
    { cron: '0 9 * * mon-fri', timezone: 'America/Sao_Paulo' },
    { at: '2026-03-02T09:00:00Z', groupId: ID },
  ],
  webhook: [{}, { contact: { phone: '{{input.phone}}', createIfMissing: true }, dedupeKey: '{{input.id}}' }],
  event: [{ event: 'order.paid', if: yes }],
}

/** Well-formed steps of every type, without their id and type. */
export const steps: Record<string, object[]> = {
  send_message: [
    { message: { body: 'x' } },
    { message: { media: { type: 'document', url: 'https://a.example/x', filename: 'x.pdf' } } },
    { message: { body: 'x', buttons: [{ id: 'a', title: 'A' }] }, ifWindowClosed: 'skip' },
    { message: { body: 'x' }, ifWindowClosed: { template: { name: 'sale', language: 'en' }, params: { a: 'b' } } },
    { message: { body: 'x', buttons: [...'abcd'].map((id) => ({ id, title: id.repeat(24) })) } },
    {
      message: { body: 'x', list: { button: 'Open', options: [{ id: '{{input.id}}', title: 'A', description: 'B' }] } },
    },
    { message: { body: 'x', link: { title: 'Pay', url: '{{input.url}}' }, replyToId: '{{message.id}}' } },
    { message: { location: { latitude: '{{input.latitude}}', longitude: 13.4, name: 'Shop' } } },
    { message: { contacts: [{ name: 'Ana', phones: [{ phone: '+491701234567', type: 'WORK' }] }] } },
    { message: { reaction: { messageId: '{{message.id}}', emoji: null } } },
    { message: { sticker: { url: 'https://a.example/x.webp' } } },
    { message: { body: `{{contact.name}}${'x'.repeat(5000)}`, media: { type: 'image', url: '{{contact.name}}' } } },
  ],
  send_template: [
    { template: { templateId: ID } },
    { template: { name: 'sale', language: 'en' }, params: { name: '{{contact.name}}', 1: 'x', 'button.0': 'y' } },
  ],
  ask: [
    { message: { body: '?' }, ifWindowClosed: { template: { templateId: ID } } },
    { message: { body: '?' }, attempts: 2, invalidMessage: { body: '??' }, onInvalid: 'end' },
    { message: { body: '?', buttons: [{ id: 'a', title: 'A', next: 'end' }] }, expect: { type: 'choice' } },
    { message: { body: '?' }, expect: { type: 'choice', options: [{ id: 'a', title: 'A' }] } },
    { message: { body: '?' }, expect: { type: 'number', min: 1, max: 2 }, timeout: 'PT1H', onTimeout: 'end' },
  ],
  wait_for_reply: [{}, { expect: { type: 'text', pattern: '^a' }, saveAs: 'vars.a' }],
  wait: [{ for: '10m' }, { for: 'P1DT2H' }, { until: '2026-03-02T09:00' }, { untilTime: '09:30' }],
  wait_for_event: [{ event: 'order.paid' }, { event: 'x', match: yes, timeout: '2h' }],
  branch: [
    {
      cases: [
        { if: yes, next: 'end' },
        { name: 'B', if: yes, next: 'end' },
      ],
      else: 'end',
    },
  ],
  split: [
    {
      paths: [
        { weight: 1, next: 'end' },
        { name: 'B', weight: 0.5, next: 'end' },
      ],
      sticky: false,
    },
  ],
  loop: [
    { over: '{{contact.tags}}', as: 'tag', max: 10, steps: [{ id: 'in', type: 'add_note', body: '{{vars.tag}}' }] },
    { while: yes, max: 3, steps: [{ id: 'in', type: 'wait', for: '1m' }] },
  ],
  set: [{ values: { a: 1, 'vars.b': ['{{contact.name}}'] } }],
  update_contact: [{ values: { name: 'x', email: null, fields: { a: 1 } } }],
  add_tag: [{ tags: ['a', '{{contact.name}}'] }],
  remove_tag: [{ tags: ['a'], if: yes, disabled: true, onError: 'continue' }],
  add_to_group: [{ groupId: ID }],
  remove_from_group: [{ groupId: ID, name: 'N', note: 'x', next: 'end' }],
  set_consent: [{ marketing: 'opted_in' }, { service: 'opted_out' }, { marketing: 'opted_in', service: 'opted_in' }],
  assign: [{ to: { userId: ID } }, { to: { strategy: 'least_open' } }, { to: { unassign: true } }],
  handoff: [{}, { reason: 'x', assign: { strategy: 'round_robin' }, resumeAfter: '30m' }],
  add_note: [{ body: 'x', retry: { max: 2, backoff: 'fixed', delay: '5s', maxDelay: '1m' } }],
  close_conversation: [{}],
  http: [{ url: 'https://a.example/x' }, { method: 'POST', url: 'https://a.example/{{contact.id}}', json: { a: 1 } }],
  tool: [{ tool: 'time.now' }, { tool: 'x', input: { a: '{{contact.name}}' }, timeout: '10s' }],
  ai: [{ instructions: 'x' }, { instructions: 'x', tools: ['time.now'], output: { type: 'object' } }],
  run_workflow: [{ workflowId: ID }, { workflowId: ID, input: { a: 1 }, wait: false }],
  emit: [{ event: 'order.paid' }, { event: 'x', data: { a: '{{contact.name}}' } }],
  throttle: [
    { max: 1, per: '1h' },
    { key: '{{contact.id}}', max: 100, per: '1d', else: 'end' },
  ],
  goto: [{ to: 'end' }],
  stop: [{}, { status: 'failed', reason: 'x' }],
}
