import { ACCESS_ERRORS } from './access-errors.ts'
import { BROADCAST_ERRORS, TEMPLATE_ERRORS } from './broadcast-errors.ts'
import type { CodeEntry, ErrorEntry } from './entry.ts'
import { CHANNEL_ERRORS, CONTACT_ERRORS } from './messaging-errors.ts'
import { PROBLEM_CODES } from './problem-codes.ts'
import { ITEM_CODES, JOB_ERRORS, REQUEST_ERRORS } from './request-errors.ts'
import { STEP_CODES } from './step-codes.ts'
import { RUN_ERRORS, TOOL_ERRORS, WORKFLOW_ERRORS } from './workflow-errors.ts'

/** The path of the page with all codes. The anchor of an error of the API is its code. */
export const ERRORS_PATH = '/docs/errors'

const API_ERRORS = {
  ...REQUEST_ERRORS,
  ...ACCESS_ERRORS,
  ...CONTACT_ERRORS,
  ...CHANNEL_ERRORS,
  ...TEMPLATE_ERRORS,
  ...BROADCAST_ERRORS,
  ...JOB_ERRORS,
  ...WORKFLOW_ERRORS,
  ...RUN_ERRORS,
  ...TOOL_ERRORS,
}

type ApiErrors = typeof API_ERRORS

/** The code of an error of the API; with a status, of one that has this status. */
export type ErrorCode<Status extends number = number> = {
  [Code in keyof ApiErrors]: ApiErrors[Code]['status'] extends Status ? Code : never
}[keyof ApiErrors]

/** The code of an item that fails by itself. */
export type ItemCode = ErrorCode | keyof typeof ITEM_CODES

/** Errors whose bodies are only `{"error": "…"}`. Items have these codes, too. */
const WITHOUT_CODE = ['unauthorized', 'forbidden', 'rate_limited'] as const satisfies readonly ErrorCode[]

/** A code that the body of an error can have. */
export type BodyCode = Exclude<ErrorCode, (typeof WITHOUT_CODE)[number]>

const codeless: ReadonlySet<string> = new Set(WITHOUT_CODE)

/** Returns true for the code of an error that has the HTTP status. */
export function hasStatus<Status extends number>(code: string, status: Status): code is ErrorCode<Status> {
  const errors: Readonly<Record<string, ErrorEntry | undefined>> = API_ERRORS
  return errors[code]?.status === status
}

export function isBodyCode(code: string): code is BodyCode {
  return Object.hasOwn(API_ERRORS, code) && !codeless.has(code)
}

/** Every code that the body of an error can have. */
export const BODY_CODES: readonly BodyCode[] = Object.keys(API_ERRORS).filter(isBodyCode).sort()

/** Returns the address of the explanation of a code, as a path of this server. */
export function toDocUrl(code: BodyCode): string {
  return `${ERRORS_PATH}#${code}`
}

type Group = { title: string; errors: Readonly<Record<string, ErrorEntry>> }

/** The errors of the API by their areas. */
export const ERROR_GROUPS: readonly Group[] = [
  { title: 'Requests', errors: REQUEST_ERRORS },
  { title: 'Accounts, keys and members', errors: ACCESS_ERRORS },
  { title: 'Contacts, messages and files', errors: CONTACT_ERRORS },
  { title: 'Channels and webhooks', errors: CHANNEL_ERRORS },
  { title: 'Templates', errors: TEMPLATE_ERRORS },
  { title: 'Broadcasts', errors: BROADCAST_ERRORS },
  { title: 'Workflows', errors: WORKFLOW_ERRORS },
  { title: 'Runs and replays', errors: RUN_ERRORS },
  { title: 'Tools and credentials', errors: TOOL_ERRORS },
  { title: 'Jobs and imports', errors: JOB_ERRORS },
]

type Section = {
  title: string
  /** Begins the anchors of the section, as some of its codes are codes of errors, too. */
  prefix: 'item' | 'step' | 'problem'
  introduction: string
  codes: Readonly<Record<string, CodeEntry>>
}

/** The codes that are no error of a call. */
export const CODE_SECTIONS: readonly Section[] = [
  {
    title: 'Items of calls for many and of jobs',
    prefix: 'item',
    introduction:
      'An item that fails alone has one of these codes in `error` of its result, or the code of an error of the API.',
    codes: ITEM_CODES,
  },
  {
    title: 'Steps and runs',
    prefix: 'step',
    introduction:
      'A step or run that failed has one of these codes in `error` of its record. `onError` of a step decides how the run continues.',
    codes: STEP_CODES,
  },
  {
    title: 'Problems of definitions',
    prefix: 'problem',
    introduction:
      'Validating, publishing and simulating a workflow return problems with these codes. A problem names the step and the path of the field.',
    codes: PROBLEM_CODES,
  },
]
