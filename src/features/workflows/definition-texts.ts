/**
 * Descriptions of the fields of definitions, by what has them: a step or trigger, or the end of the path of an object. The
 * tables of docs/workflow-language.md have the same texts.
 */
const TEXTS: Record<string, Record<string, string>> = {
  trigger: { type: 'Type of the trigger', if: 'Starts a run only if the condition is true' },
  step: {
    type: 'Type of the step',
    id: 'Unique in the definition; not `end`, `continue` or `break`',
    name: 'Shown in runs',
    note: 'Note for authors; without effect',
    if: 'Skips the step if the condition is false',
    disabled: 'Skips the step',
    next: 'Step to continue with, or `end`; by default the following step',
    onError: '`fail` ends the run, `continue` goes to the next step, or the ID of a step',
    retry: 'Repeats a failed step if the failure may be temporary',
    timeout: 'Longest wait for a reply, an event or a result',
    onTimeout:
      'Step to continue with after the timeout; without it an external call fails with `timed_out` and other steps continue',
    saveAs: 'Variable that stores the output, such as `vars.city`',
  },
  definition: {
    version: 'Version of the language',
    triggers: 'What starts runs',
    settings: 'Settings of all runs',
    variables: 'Variables of the workflow by name',
    steps: 'Steps of the workflow, executed in order',
    ui: 'Data of an editor; without effect',
  },
  settings: {
    timezone:
      "IANA time zone; by default that of the workspace. `contact` uses the contact's time zone, then that of its country if it has only one, then the workspace's",
    reentry: 'Whether a new run starts while another is active, see Re-entry',
    debounce:
      'At most 60s; a run started by a message waits this long for further messages and reads them as one. Default: none',
    maxDuration: 'A run that lasts longer ends as `expired`. Default: 30 days',
    pauseOnHumanReply: 'Pauses the workflow in a conversation when a member writes',
  },
  '*': {
    type: 'Values of another type are converted, or the step fails',
    default: 'Value at the start of a run',
    sensitive: 'Never shown in recorded steps',
  },
  condition: {
    all: 'True if all of them are true',
    any: 'True if one of them is true',
    not: 'True if it is false',
    left: 'Value, usually a placeholder',
    op: 'Operator of the comparison',
    right: 'Value to compare with; placeholders allowed',
  },
  message_received: {
    channelId: 'Only messages on this channel',
    match: 'Which texts match',
    first: 'Only the first message since the conversation was opened',
    priority: 'Above 0, the workflow starts even if a run waits for a reply, and consumes the message',
  },
  match: {
    mode: '`any` text, or a text that is, contains or starts with one of the values, or matches one as an RE2 pattern',
    values: 'Texts or patterns; upper and lower case and surrounding spaces do not matter, except in patterns',
  },
  contact_updated: {
    fields: 'Only changes of these details, such as `email` or `fields.plan`; `fields` stands for all custom fields',
  },
  tag_added: { tag: 'Name of the tag' },
  tag_removed: { tag: 'Name of the tag' },
  group_joined: { groupId: 'ID of the group' },
  group_left: { groupId: 'ID of the group' },
  broadcast_replied: {
    broadcastId: 'Only replies to this broadcast',
    within: 'Only replies within this time after the message was sent',
    match: 'Which texts match',
  },
  schedule: {
    cron: 'Five fields: minute, hour, day of the month, month, day of the week',
    at: 'One moment, such as `2027-03-02T09:00`',
    timezone: 'IANA time zone of both; by default that of the workflow or the workspace',
    groupId: 'Starts one run for each member; without it one run without a contact',
  },
  webhook: {
    contact: 'Finds the contact of the run; without it the run has no contact',
    dedupeKey: 'Template; calls with the same result start one run',
  },
  contact: {
    phone: 'Template of the phone number, such as `{{input.phone}}`',
    createIfMissing: 'Creates an unknown contact',
  },
  event: { event: 'Name of the event, such as `order.paid`' },
  retry: {
    max: 'Largest number of repetitions',
    backoff: 'Equal or doubling delays',
    delay: 'First delay, 2s by default',
    maxDelay: 'Longest delay, 1h by default',
  },
  send_message: {
    message: 'The message to send',
    ifWindowClosed:
      'When the service window is closed: `fail` with `outside_window`, `skip` the message and continue, or send a template instead, as send_template does',
  },
  message: {
    body: 'Text of the message; placeholders allowed',
    media: 'File to send',
    buttons: 'Options for the reply',
    sticker: 'Sticker to send',
    location: 'A place on the map',
    contacts: 'Contacts to share',
    reaction: 'An emoji at a message',
    list: 'Options in a list that opens on demand',
    link: 'A button that opens an address',
    template: 'An approved template, which needs no open service window',
    replyToId: 'ID of the message that is quoted, such as `{{message.id}}`; any other ID is ignored',
  },
  media: {
    type: 'Kind of the file',
    url: 'Public address from which the provider fetches the file; placeholders allowed. Set this or `mediaId`',
    mediaId: 'ID of a stored file of the workspace, without placeholders',
    filename: 'Name shown for a document',
  },
  'buttons[]': {
    id: 'Value of the option',
    title: 'Text of the option, at most 20 characters, or 24 with more than three',
    next: 'Step to continue with when it is chosen',
  },
  sticker: {
    url: 'Public address of a WebP file; placeholders allowed. Set this or `mediaId`',
    mediaId: 'ID of a stored file of the workspace, without placeholders',
  },
  location: {
    latitude: 'Number from -90 to 90, or a placeholder',
    longitude: 'Number from -180 to 180, or a placeholder',
    name: 'Name of the place',
    address: 'Address of the place',
  },
  'contacts[]': {
    name: 'Full name of the contact',
    phones: 'Phone numbers of the contact',
    emails: 'Email addresses of the contact',
    organization: 'Employer of the person',
  },
  'phones[]': { phone: 'Number as the contact sees it', type: 'Kind of the number, such as `WORK`' },
  'emails[]': { email: 'Address as the contact sees it', type: 'Kind of the address, such as `HOME`' },
  organization: { company: 'Name of the company', title: 'Position of the person' },
  reaction: { messageId: 'ID of the message, such as `{{message.id}}`', emoji: 'The emoji; null removes the reaction' },
  list: { button: 'Label that opens the list, at most 20 characters', options: 'Options for the reply' },
  'options[]': {
    id: 'Value of the choice',
    title: 'Text of the choice, at most 24 characters',
    description: 'Second line, at most 72 characters',
    next: 'Step to continue with when it is chosen',
  },
  link: { title: 'Text of the button, at most 20 characters', url: 'Address to open; placeholders allowed' },
  template: {
    templateId: 'ID of the template; either it, or `name` and `language`',
    name: 'Name of the template',
    language: 'Language of the template, such as `pt_BR`',
    params: 'Values by parameter; placeholders allowed',
  },
  ifWindowClosed: {
    template: 'Template to send',
    params: 'Values of the variables of the template, by their names; placeholders allowed',
  },
  send_template: {
    template: 'The template: either its ID, or its name and language',
    params: 'Values of the variables of the template, by their names; placeholders allowed',
  },
  ask: {
    message: 'The question to ask',
    expect: 'The reply that the step accepts',
    attempts: 'How often the question is asked, 3 by default',
    invalidMessage: 'Answer to a reply that is not accepted; the choices are shown again',
    onInvalid: 'Step to continue with after the last attempt',
    ifWindowClosed:
      'When the service window is closed: `fail` with `outside_window`, which is the default, or ask with a template instead of the message',
  },
  expect: {
    type: 'Kind of reply, see Replies',
    options: 'Choices for the type `choice`; without them the buttons of the message',
    pattern: 'RE2 pattern which the text must match',
    min: 'Smallest number, or shortest text',
    max: 'Largest number, or longest text',
  },
  invalidMessage: { body: 'Text of the message; placeholders allowed', media: 'File to send' },
  wait_for_reply: { expect: 'The reply that the step accepts' },
  wait: {
    for: 'Length of the wait',
    until: 'A moment, such as `2027-03-31T09:00` or `{{vars.when}}`',
    untilTime: 'The next time of day in the time zone of the workflow, such as `09:30`',
  },
  wait_for_event: {
    event: 'Name of the event',
    match: 'Accepts the event only if the condition is true; it reads `{{trigger.event}}` and `{{trigger.data}}`',
  },
  branch: { cases: 'Cases, tried in order', else: 'Step to continue with if no condition is true' },
  'cases[]': { name: 'Shown in the run', if: 'Condition of the case', next: 'Step to continue with' },
  loop: {
    over: 'Placeholder of the list, read once',
    as: 'Variable for the present entry',
    while: 'Condition, checked before each iteration',
    max: 'Maximum number of iterations',
    steps: 'The body; its targets may also be `continue` and `break`',
  },
  split: { paths: 'At least 2 paths', sticky: 'The same contact always takes the same path of this step' },
  'paths[]': {
    name: 'Shown in the run',
    weight: 'Share of this path relative to the sum of all',
    next: 'Step to continue with',
  },
  set: { values: 'By variable, such as `{"city": "{{input.city}}"}`; `vars.city` and `city` are the same' },
  update_contact: { values: 'At least one of the fields below' },
  values: {
    name: 'Name of the contact; placeholders allowed',
    email: 'Email address; null or an empty text removes it',
    language: 'Language tag such as `pt-BR`',
    timezone: 'IANA time zone',
    fields: 'Custom fields, at most 64 KB with those that exist; null removes one, and those left out stay',
  },
  add_tag: { tags: 'Names of tags; placeholders allowed, also for a list' },
  remove_tag: { tags: 'Names of tags; placeholders allowed, also for a list' },
  add_to_group: { groupId: 'ID of the group' },
  remove_from_group: { groupId: 'ID of the group' },
  set_consent: { marketing: 'The consent to marketing', service: 'The consent to all other messages' },
  assign: {
    to: 'The assignee; exactly one of the fields below',
    userId: 'ID of a member; placeholders allowed',
    strategy:
      '`round_robin`: the member whose last assignment is the oldest; `least_open`: the member with the fewest open conversations, counted up to 1,000',
    unassign: 'Removes the assignment',
  },
  to: {
    userId: 'ID of a member; placeholders allowed',
    strategy:
      '`round_robin`: the member whose last assignment is the oldest; `least_open`: the member with the fewest open conversations, counted up to 1,000',
    unassign: 'Removes the assignment',
  },
  handoff: {
    reason: 'Text for the members, `automation.handoffReason` of the conversation; placeholders allowed',
    assign: 'Also assigns the conversation; exactly one of the fields below',
    resumeAfter: 'Length of the pause',
  },
  run_workflow: {
    workflowId: 'ID of the workflow',
    input: 'Input of the run, which reads it as `{{input}}`; placeholders allowed',
    wait: 'Waits for the child run and uses its output; otherwise continues at once',
  },
  add_note: { body: 'Text of the note; placeholders allowed' },
  emit: { event: 'Name of the event', data: 'Any JSON; placeholders allowed' },
  throttle: {
    key: 'Runs with the same text are counted together. Default: the contact',
    max: 'Runs that may continue',
    per: 'Period in which they are counted',
    else: 'Step to continue with when there were too many. Default: the run ends',
  },
  goto: { to: 'Step to continue with' },
  stop: { status: 'Result of the run', reason: 'Text for the record; placeholders allowed' },
  http: {
    method: 'Method of the HTTP request',
    url: 'Address of the request; placeholders allowed',
    headers: 'By name; placeholders allowed in values',
    query: 'Query parameters by name; a list repeats the parameter',
    json: 'JSON body; placeholders allowed',
    text: 'Text body; placeholders allowed; not together with `json`',
    credentialId: 'The ID of a credential (`/api/credentials`), which the call carries; no placeholders',
    idempotencyKey: 'Replaces the default, which is the run ID and the index of the step',
    failOn: 'Which results fail the step: no response (`network`), also 5xx, or also 4xx',
  },
  tool: { tool: 'Name of the tool', input: 'Input of the tool; placeholders allowed' },
  ai: {
    instructions: 'System prompt; placeholders allowed',
    model: 'Name of the model; by default that of the provider',
    tools: 'Tools which the model may call',
    history: 'Number of past messages which the model reads, 20 by default',
    maxTurns: 'Maximum number of requests to the model, 5 by default',
    output: 'JSON Schema of type object; the model then answers with data',
    reply: 'Sends the answer to the customer; not together with `output`',
  },
  'list.options[]': { id: 'Value of the option', title: 'Text of the option, at most 24 characters' },
  'ask.message': { buttons: 'Buttons, which are the choices unless `expect.options` is set' },
}

/**
 * Finds the description of a field. `path` begins with the kind and the type of what has the field: `step`, `ask`, `message`,
 * `body`. The longest owner takes precedence; the kind is that of the fields that all types have.
 */
export function findFieldText(path: readonly string[]): string | undefined {
  const field = path.at(-1) ?? ''
  const owners = path.slice(0, -1)
  const names = owners.map((_, start) => owners.slice(start).join('.'))
  const kind = owners.length === 2 ? owners.slice(0, 1) : []
  for (const name of [...names, ...kind]) {
    const texts = TEXTS[name] ?? {}
    if (Object.hasOwn(texts, field)) return texts[field]
  }
  return undefined
}
