/*
 * The types of definitions, as the schemas of the steps, triggers and conditions accept them. A test writes this file from
 * the JSON Schema of definitions: WRITE_TYPES=1 npx mocha test/unit/engine/definition-types.test.ts
 */

/** Returns the definition unchanged. The type checker finds mistakes in it, and editors complete its fields. */
export function defineWorkflow(definition: WorkflowDefinition): WorkflowDefinition {
  return definition
}

export type WorkflowDefinition = {
  /** Version of the language */
  version: 1
  /** What starts runs */
  triggers?: Array<Trigger>
  /** Settings of all runs */
  settings?: {
    /** IANA time zone; by default that of the workspace. `contact` uses the contact's time zone, then that of its country if it has only one, then the workspace's */
    timezone?: string
    /** Whether a new run starts while another is active, see Re-entry */
    reentry?: 'ignore' | 'restart' | 'queue' | 'parallel'
    /** At most 60s; a run started by a message waits this long for further messages and reads them as one. Default: none */
    debounce?: string
    /** A run that lasts longer ends as `expired`. Default: 30 days */
    maxDuration?: string
    /** Pauses the workflow in a conversation when a member writes */
    pauseOnHumanReply?: boolean
  }
  /** Variables of the workflow by name */
  variables?: {
    [name: string]: {
      /** Values of another type are converted, or the step fails */
      type: 'string' | 'number' | 'boolean' | 'date' | 'list' | 'object'
      /** Value at the start of a run */
      default?: unknown
      /** Never shown in recorded steps */
      sensitive?: boolean
    }
  }
  /** Steps of the workflow, executed in order */
  steps: Array<Step>
  /** Data of an editor; without effect */
  ui?: { [name: string]: unknown }
}

export type Trigger =
  | MessageReceivedTrigger
  | ConversationOpenedTrigger
  | ConversationClosedTrigger
  | ContactCreatedTrigger
  | ContactUpdatedTrigger
  | TagAddedTrigger
  | TagRemovedTrigger
  | GroupJoinedTrigger
  | GroupLeftTrigger
  | BroadcastRepliedTrigger
  | ApiTrigger
  | ManualTrigger
  | ScheduleTrigger
  | WebhookTrigger
  | EventTrigger

type Match =
  | {
      /** `any` text, or a text that is, contains or starts with one of the values, or matches one as an RE2 pattern */
      mode: 'any'
      /** Texts or patterns; upper and lower case and surrounding spaces do not matter, except in patterns */
      values?: Array<string>
    }
  | {
      /** `any` text, or a text that is, contains or starts with one of the values, or matches one as an RE2 pattern */
      mode: 'exact' | 'contains' | 'starts_with' | 'regex'
      /** Texts or patterns; upper and lower case and surrounding spaces do not matter, except in patterns */
      values: Array<string>
    }

type MessageReceivedTrigger = {
  /** Type of the trigger */
  type: 'message_received'
  /** Only messages on this channel */
  channelId?: string
  /** Which texts match */
  match?: Match
  /** Only the first message since the conversation was opened */
  first?: boolean
  /** Starts a run only if the condition is true */
  if?: Condition
  /** Above 0, the workflow starts even if a run waits for a reply, and consumes the message */
  priority?: number
}

export type Condition =
  | {
      /** True if all of them are true */
      all: Array<Condition>
      any?: never
      not?: never
      left?: never
      op?: never
      right?: never
    }
  | {
      all?: never
      /** True if one of them is true */
      any: Array<Condition>
      not?: never
      left?: never
      op?: never
      right?: never
    }
  | {
      all?: never
      any?: never
      /** True if it is false */
      not: Condition
      left?: never
      op?: never
      right?: never
    }
  | {
      all?: never
      any?: never
      not?: never
      /** Value, usually a placeholder */
      left: string | number | boolean
      /** Operator of the comparison */
      op: 'exists' | 'empty' | 'is_open'
      /** Value to compare with; placeholders allowed */
      right?: unknown
    }
  | {
      all?: never
      any?: never
      not?: never
      /** Value, usually a placeholder */
      left: string | number | boolean
      /** Operator of the comparison */
      op:
        | 'eq'
        | 'ne'
        | 'gt'
        | 'gte'
        | 'lt'
        | 'lte'
        | 'contains'
        | 'not_contains'
        | 'starts_with'
        | 'ends_with'
        | 'matches'
        | 'in'
        | 'not_in'
        | 'has_tag'
        | 'in_group'
      /** Value to compare with; placeholders allowed */
      right: unknown
    }

type ConversationOpenedTrigger = {
  /** Type of the trigger */
  type: 'conversation_opened'
  /** Starts a run only if the condition is true */
  if?: Condition
}

type ConversationClosedTrigger = {
  /** Type of the trigger */
  type: 'conversation_closed'
  /** Starts a run only if the condition is true */
  if?: Condition
}

type ContactCreatedTrigger = {
  /** Type of the trigger */
  type: 'contact_created'
  /** Starts a run only if the condition is true */
  if?: Condition
}

type ContactUpdatedTrigger = {
  /** Type of the trigger */
  type: 'contact_updated'
  /** Only changes of these details, such as `email` or `fields.plan`; `fields` stands for all custom fields */
  fields?: Array<string>
  /** Starts a run only if the condition is true */
  if?: Condition
}

type TagAddedTrigger = {
  /** Type of the trigger */
  type: 'tag_added'
  /** Name of the tag */
  tag: string
  /** Starts a run only if the condition is true */
  if?: Condition
}

type TagRemovedTrigger = {
  /** Type of the trigger */
  type: 'tag_removed'
  /** Name of the tag */
  tag: string
  /** Starts a run only if the condition is true */
  if?: Condition
}

type GroupJoinedTrigger = {
  /** Type of the trigger */
  type: 'group_joined'
  /** ID of the group */
  groupId: string
  /** Starts a run only if the condition is true */
  if?: Condition
}

type GroupLeftTrigger = {
  /** Type of the trigger */
  type: 'group_left'
  /** ID of the group */
  groupId: string
  /** Starts a run only if the condition is true */
  if?: Condition
}

type BroadcastRepliedTrigger = {
  /** Type of the trigger */
  type: 'broadcast_replied'
  /** Only replies to this broadcast */
  broadcastId?: string
  /** Only replies within this time after the message was sent */
  within?: string
  /** Which texts match */
  match?: Match
  /** Starts a run only if the condition is true */
  if?: Condition
}

type ApiTrigger = {
  /** Type of the trigger */
  type: 'api'
  /** Starts a run only if the condition is true */
  if?: Condition
}

type ManualTrigger = {
  /** Type of the trigger */
  type: 'manual'
  /** Starts a run only if the condition is true */
  if?: Condition
}

type ScheduleTrigger = {
  /** Type of the trigger */
  type: 'schedule'
  /** IANA time zone of both; by default that of the workflow or the workspace */
  timezone?: string
  /** Starts one run for each member; without it one run without a contact */
  groupId?: string
} & (
  | {
      /** Five fields: minute, hour, day of the month, month, day of the week */
      cron: string
      at?: never
    }
  | {
      cron?: never
      /** One moment, such as `2027-03-02T09:00` */
      at: string
    }
)

type WebhookTrigger = {
  /** Type of the trigger */
  type: 'webhook'
  /** Finds the contact of the run; without it the run has no contact */
  contact?: {
    /** Template of the phone number, such as `{{input.phone}}` */
    phone: string
    /** Creates an unknown contact */
    createIfMissing?: boolean
  }
  /** Template; calls with the same result start one run */
  dedupeKey?: string
}

type EventTrigger = {
  /** Type of the trigger */
  type: 'event'
  /** Name of the event, such as `order.paid` */
  event: string
  /** Starts a run only if the condition is true */
  if?: Condition
}

export type Step =
  | SendMessageStep
  | SendTemplateStep
  | AskStep
  | WaitForReplyStep
  | WaitStep
  | WaitForEventStep
  | BranchStep
  | LoopStep
  | SplitStep
  | SetStep
  | UpdateContactStep
  | AddTagStep
  | RemoveTagStep
  | AddToGroupStep
  | RemoveFromGroupStep
  | SetConsentStep
  | AssignStep
  | HandoffStep
  | RunWorkflowStep
  | AddNoteStep
  | CloseConversationStep
  | EmitStep
  | ThrottleStep
  | GotoStep
  | StopStep
  | HttpStep
  | ToolStep
  | AiStep

type Template = {
  /** Values by parameter; placeholders allowed */
  params?: { [name: string]: string }
} & (
  | {
      /** ID of the template; either it, or `name` and `language` */
      templateId: string
      name?: never
      language?: never
    }
  | {
      templateId?: never
      /** Name of the template */
      name: string
      /** Language of the template, such as `pt_BR` */
      language: string
    }
)

type Sticker =
  | {
      /** Public address of a WebP file; placeholders allowed. Set this or `mediaId` */
      url: string
      mediaId?: never
    }
  | {
      url?: never
      /** ID of a stored file of the workspace, without placeholders */
      mediaId: string
    }

type Media = {
  /** Kind of the file */
  type: 'image' | 'video' | 'audio' | 'document'
  /** Name shown for a document */
  filename?: string
} & (
  | {
      /** Public address from which the provider fetches the file; placeholders allowed. Set this or `mediaId` */
      url: string
      mediaId?: never
    }
  | {
      url?: never
      /** ID of a stored file of the workspace, without placeholders */
      mediaId: string
    }
)

type Message = {
  /** ID of the message that is quoted, such as `{{message.id}}`; any other ID is ignored */
  replyToId?: string
} & (
  | {
      body?: never
      media?: never
      buttons?: never
      sticker?: never
      location?: never
      contacts?: never
      reaction?: never
      list?: never
      link?: never
      /** An approved template, which needs no open service window */
      template: Template
    }
  | {
      body?: never
      media?: never
      buttons?: never
      sticker?: never
      location?: never
      contacts?: never
      /** An emoji at a message */
      reaction: {
        /** ID of the message, such as `{{message.id}}` */
        messageId: string
        /** The emoji; null removes the reaction */
        emoji: string | null
      }
      list?: never
      link?: never
      template?: never
    }
  | {
      body?: never
      media?: never
      buttons?: never
      /** Sticker to send */
      sticker: Sticker
      location?: never
      contacts?: never
      reaction?: never
      list?: never
      link?: never
      template?: never
    }
  | {
      body?: never
      media?: never
      buttons?: never
      sticker?: never
      /** A place on the map */
      location: {
        /** Number from -90 to 90, or a placeholder */
        latitude: number | string
        /** Number from -180 to 180, or a placeholder */
        longitude: number | string
        /** Name of the place */
        name?: string
        /** Address of the place */
        address?: string
      }
      contacts?: never
      reaction?: never
      list?: never
      link?: never
      template?: never
    }
  | {
      body?: never
      media?: never
      buttons?: never
      sticker?: never
      location?: never
      /** Contacts to share */
      contacts: Array<{
        /** Full name of the contact */
        name: string
        /** Phone numbers of the contact */
        phones?: Array<{
          /** Number as the contact sees it */
          phone: string
          /** Kind of the number, such as `WORK` */
          type?: string
        }>
        /** Email addresses of the contact */
        emails?: Array<{
          /** Address as the contact sees it */
          email: string
          /** Kind of the address, such as `HOME` */
          type?: string
        }>
        /** Employer of the person */
        organization?: {
          /** Name of the company */
          company: string
          /** Position of the person */
          title?: string
        }
      }>
      reaction?: never
      list?: never
      link?: never
      template?: never
    }
  | {
      /** Text of the message; placeholders allowed */
      body: string
      media?: never
      buttons?: never
      sticker?: never
      location?: never
      contacts?: never
      reaction?: never
      /** Options in a list that opens on demand */
      list: {
        /** Label that opens the list, at most 20 characters */
        button: string
        /** Options for the reply */
        options: Array<{
          /** Value of the option */
          id: string
          /** Text of the option, at most 24 characters */
          title: string
          /** Second line, at most 72 characters */
          description?: string
        }>
      }
      link?: never
      template?: never
    }
  | {
      /** Text of the message; placeholders allowed */
      body: string
      /** File to send */
      media?: Media
      /** Options for the reply */
      buttons: Array<{
        /** Value of the option */
        id: string
        /** Text of the option, at most 20 characters, or 24 with more than three */
        title: string
      }>
      sticker?: never
      location?: never
      contacts?: never
      reaction?: never
      list?: never
      link?: never
      template?: never
    }
  | {
      /** Text of the message; placeholders allowed */
      body: string
      /** File to send */
      media?: Media
      buttons?: never
      sticker?: never
      location?: never
      contacts?: never
      reaction?: never
      list?: never
      /** A button that opens an address */
      link: {
        /** Text of the button, at most 20 characters */
        title: string
        /** Address to open; placeholders allowed */
        url: string
      }
      template?: never
    }
  | {
      /** Text of the message; placeholders allowed */
      body?: string
      /** File to send */
      media: Media
      buttons?: never
      sticker?: never
      location?: never
      contacts?: never
      reaction?: never
      list?: never
      link?: never
      template?: never
    }
  | {
      /** Text of the message; placeholders allowed */
      body: string
      media?: never
      buttons?: never
      sticker?: never
      location?: never
      contacts?: never
      reaction?: never
      list?: never
      link?: never
      template?: never
    }
)

type TemplateChoice =
  | {
      /** ID of the template; either it, or `name` and `language` */
      templateId: string
      name?: never
      language?: never
    }
  | {
      templateId?: never
      /** Name of the template */
      name: string
      /** Language of the template, such as `pt_BR` */
      language: string
    }

type IfWindowClosed = {
  /** Template to send */
  template: TemplateChoice
  /** Values of the variables of the template, by their names; placeholders allowed */
  params?: { [name: string]: string }
}

type SendMessageStep = StepFields & {
  /** Type of the step */
  type: 'send_message'
  /** The message to send */
  message: Message
  /** When the service window is closed: `fail` with `outside_window`, `skip` the message and continue, or send a template instead, as send_template does */
  ifWindowClosed?: 'fail' | 'skip' | IfWindowClosed
}

type SendTemplateStep = StepFields & {
  /** Type of the step */
  type: 'send_template'
  /** The template: either its ID, or its name and language */
  template: TemplateChoice
  /** Values of the variables of the template, by their names; placeholders allowed */
  params?: { [name: string]: string }
}

type Options = {
  /** Value of the choice */
  id: string
  /** Text of the choice, at most 24 characters */
  title: string
  /** Step to continue with when it is chosen */
  next?: string
}

type Expect = {
  /** Kind of reply, see Replies */
  type: 'any' | 'text' | 'number' | 'email' | 'phone' | 'url' | 'date' | 'choice'
  /** Choices for the type `choice`; without them the buttons of the message */
  options?: Array<Options>
  /** RE2 pattern which the text must match */
  pattern?: string
  /** Smallest number, or shortest text */
  min?: number
  /** Largest number, or longest text */
  max?: number
}

type AskStep = StepFields & {
  /** Type of the step */
  type: 'ask'
  /** The question to ask */
  message: {
    /** Text of the message; placeholders allowed */
    body: string
    /** File to send */
    media?: Media
    /** Buttons, which are the choices unless `expect.options` is set */
    buttons?: Array<{
      /** Value of the option */
      id: string
      /** Text of the option, at most 20 characters, or 24 with more than three */
      title: string
      /** Step to continue with when it is chosen */
      next?: string
    }>
  }
  /** The reply that the step accepts */
  expect?: Expect
  /** How often the question is asked, 3 by default */
  attempts?: number
  /** Answer to a reply that is not accepted; the choices are shown again */
  invalidMessage?: {
    /** Text of the message; placeholders allowed */
    body: string
    /** File to send */
    media?: Media
  }
  /** Step to continue with after the last attempt */
  onInvalid?: string
  /** When the service window is closed: `fail` with `outside_window`, which is the default, or ask with a template instead of the message */
  ifWindowClosed?: 'fail' | IfWindowClosed
}

type WaitForReplyStep = StepFields & {
  /** Type of the step */
  type: 'wait_for_reply'
  /** The reply that the step accepts */
  expect?: Expect
}

type WaitStep = StepFields & {
  /** Type of the step */
  type: 'wait'
} & (
    | {
        /** Length of the wait */
        for: string
        until?: never
        untilTime?: never
      }
    | {
        for?: never
        /** A moment, such as `2027-03-31T09:00` or `{{vars.when}}` */
        until: string
        untilTime?: never
      }
    | {
        for?: never
        until?: never
        /** The next time of day in the time zone of the workflow, such as `09:30` */
        untilTime: string
      }
  )

type WaitForEventStep = StepFields & {
  /** Type of the step */
  type: 'wait_for_event'
  /** Name of the event */
  event: string
  /** Accepts the event only if the condition is true; it reads `{{trigger.event}}` and `{{trigger.data}}` */
  match?: Condition
}

type BranchStep = StepFields & {
  /** Type of the step */
  type: 'branch'
  /** Cases, tried in order */
  cases: Array<{
    /** Shown in the run */
    name?: string
    /** Condition of the case */
    if: Condition
    /** Step to continue with */
    next: string
  }>
  /** Step to continue with if no condition is true */
  else?: string
}

type LoopStep = StepFields & {
  /** Type of the step */
  type: 'loop'
  /** Variable for the present entry */
  as?: string
  /** Maximum number of iterations */
  max: number
  /** The body; its targets may also be `continue` and `break` */
  steps: Array<Step>
} & (
    | {
        /** Placeholder of the list, read once */
        over: string
        while?: never
      }
    | {
        over?: never
        /** Condition, checked before each iteration */
        while: Condition
      }
  )

type SplitStep = StepFields & {
  /** Type of the step */
  type: 'split'
  /** At least 2 paths */
  paths: Array<{
    /** Shown in the run */
    name?: string
    /** Share of this path relative to the sum of all */
    weight: number
    /** Step to continue with */
    next: string
  }>
  /** The same contact always takes the same path of this step */
  sticky?: boolean
}

type SetStep = StepFields & {
  /** Type of the step */
  type: 'set'
  /** By variable, such as `{"city": "{{input.city}}"}`; `vars.city` and `city` are the same */
  values: { [name: string]: unknown }
}

type UpdateContactStep = StepFields & {
  /** Type of the step */
  type: 'update_contact'
  /** At least one of the fields below */
  values: {
    /** Name of the contact; placeholders allowed */
    name?: string
    /** Email address; null or an empty text removes it */
    email?: string | null
    /** Language tag such as `pt-BR` */
    language?: string | null
    /** IANA time zone */
    timezone?: string | null
    /** Custom fields, at most 64 KB with those that exist; null removes one, and those left out stay */
    fields?: { [name: string]: unknown }
  }
}

type AddTagStep = StepFields & {
  /** Type of the step */
  type: 'add_tag'
  /** Names of tags; placeholders allowed, also for a list */
  tags: Array<string>
}

type RemoveTagStep = StepFields & {
  /** Type of the step */
  type: 'remove_tag'
  /** Names of tags; placeholders allowed, also for a list */
  tags: Array<string>
}

type AddToGroupStep = StepFields & {
  /** Type of the step */
  type: 'add_to_group'
  /** ID of the group */
  groupId: string
}

type RemoveFromGroupStep = StepFields & {
  /** Type of the step */
  type: 'remove_from_group'
  /** ID of the group */
  groupId: string
}

type SetConsentStep = StepFields & {
  /** Type of the step */
  type: 'set_consent'
} & (
    | {
        /** The consent to marketing */
        marketing: 'opted_in' | 'opted_out'
        /** The consent to all other messages */
        service?: 'opted_in' | 'opted_out'
      }
    | {
        /** The consent to marketing */
        marketing?: 'opted_in' | 'opted_out'
        /** The consent to all other messages */
        service: 'opted_in' | 'opted_out'
      }
  )

type To =
  | {
      /** ID of a member; placeholders allowed */
      userId: string
      strategy?: never
      unassign?: never
    }
  | {
      userId?: never
      /** `round_robin`: the member whose last assignment is the oldest; `least_open`: the member with the fewest open conversations, counted up to 1,000 */
      strategy: 'round_robin' | 'least_open'
      unassign?: never
    }
  | {
      userId?: never
      strategy?: never
      /** Removes the assignment */
      unassign: true
    }

type AssignStep = StepFields & {
  /** Type of the step */
  type: 'assign'
  /** The assignee; exactly one of the fields below */
  to: To
}

type HandoffStep = StepFields & {
  /** Type of the step */
  type: 'handoff'
  /** Text for the members, `automation.handoffReason` of the conversation; placeholders allowed */
  reason?: string
  /** Also assigns the conversation; exactly one of the fields below */
  assign?: To
  /** Length of the pause */
  resumeAfter?: string
}

type RunWorkflowStep = StepFields & {
  /** Type of the step */
  type: 'run_workflow'
  /** ID of the workflow */
  workflowId: string
  /** Input of the run, which reads it as `{{input}}`; placeholders allowed */
  input?: { [name: string]: unknown }
  /** Waits for the child run and uses its output; otherwise continues at once */
  wait?: boolean
}

type AddNoteStep = StepFields & {
  /** Type of the step */
  type: 'add_note'
  /** Text of the note; placeholders allowed */
  body: string
}

type CloseConversationStep = StepFields & {
  /** Type of the step */
  type: 'close_conversation'
}

type EmitStep = StepFields & {
  /** Type of the step */
  type: 'emit'
  /** Name of the event */
  event: string
  /** Any JSON; placeholders allowed */
  data?: { [name: string]: unknown }
}

type ThrottleStep = StepFields & {
  /** Type of the step */
  type: 'throttle'
  /** Runs with the same text are counted together. Default: the contact */
  key?: string
  /** Runs that may continue */
  max: number
  /** Period in which they are counted */
  per: string
  /** Step to continue with when there were too many. Default: the run ends */
  else?: string
}

type GotoStep = StepFields & {
  /** Type of the step */
  type: 'goto'
  /** Step to continue with */
  to: string
}

type StopStep = StepFields & {
  /** Type of the step */
  type: 'stop'
  /** Result of the run */
  status?: 'completed' | 'failed'
  /** Text for the record; placeholders allowed */
  reason?: string
}

type HttpStep = StepFields & {
  /** Type of the step */
  type: 'http'
  /** Method of the HTTP request */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Address of the request; placeholders allowed */
  url: string
  /** By name; placeholders allowed in values */
  headers?: { [name: string]: string }
  /** Query parameters by name; a list repeats the parameter */
  query?: { [name: string]: unknown }
  /** JSON body; placeholders allowed */
  json?: unknown
  /** Text body; placeholders allowed; not together with `json` */
  text?: string
  /** The ID of a credential (`/api/credentials`), which the call carries; no placeholders */
  credentialId?: string
  /** Replaces the default, which is the run ID and the index of the step */
  idempotencyKey?: string
  /** Which results fail the step: no response (`network`), also 5xx, or also 4xx */
  failOn?: 'network' | '5xx' | '4xx_5xx'
}

type ToolStep = StepFields & {
  /** Type of the step */
  type: 'tool'
  /** Name of the tool */
  tool: string
  /** Input of the tool; placeholders allowed */
  input?: { [name: string]: unknown }
}

type AiStep = StepFields & {
  /** Type of the step */
  type: 'ai'
  /** System prompt; placeholders allowed */
  instructions: string
  /** Name of the model; by default that of the provider */
  model?: string
  /** Tools which the model may call */
  tools?: Array<string>
  /** Number of past messages which the model reads, 20 by default */
  history?: number
  /** Maximum number of requests to the model, 5 by default */
  maxTurns?: number
  /** JSON Schema of type object; the model then answers with data */
  output?: { [name: string]: unknown }
  /** Sends the answer to the customer; not together with `output` */
  reply?: boolean
}

type Retry = {
  /** Largest number of repetitions */
  max?: number
  /** Equal or doubling delays */
  backoff?: 'fixed' | 'exponential'
  /** First delay, 2s by default */
  delay?: string
  /** Longest delay, 1h by default */
  maxDelay?: string
}

/** Fields of every step */
type StepFields = {
  /** Unique in the definition; not `end`, `continue` or `break` */
  id: string
  /** Shown in runs */
  name?: string
  /** Note for authors; without effect */
  note?: string
  /** Skips the step if the condition is false */
  if?: Condition
  /** Skips the step */
  disabled?: boolean
  /** Step to continue with, or `end`; by default the following step */
  next?: string
  /** `fail` ends the run, `continue` goes to the next step, or the ID of a step */
  onError?: string
  /** Repeats a failed step if the failure may be temporary */
  retry?: Retry
  /** Longest wait for a reply, an event or a result */
  timeout?: string
  /** Step to continue with after the timeout; without it an external call fails with `timed_out` and other steps continue */
  onTimeout?: string
  /** Variable that stores the output, such as `vars.city` */
  saveAs?: string
}
