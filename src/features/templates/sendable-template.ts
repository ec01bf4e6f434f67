import {
  fillComponents,
  type FilledTemplate,
  type ParameterProblem,
  type SendableTemplate,
  toSendableTemplate,
} from '../../channels/templates/fill-template.ts'
import { findHeaderFile, nameHeaderFile } from '../../channels/templates/header-file.ts'
import type { FileKind } from '../../message-content/stored-file.ts'
import type { Template as TemplateRow } from '../../models/messaging.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertSendable } from '../media/queries.ts'

/** A template by its ID, or by its name and language on the channel. */
export type TemplateChoice = { templateId: string } | { name: string; language: string }

type ChannelTemplate = { channelId: string; choice: TemplateChoice }

/** A stored template, as far as it decides how it can be sent. */
type Row = Pick<
  TemplateRow,
  'id' | 'channelId' | 'name' | 'language' | 'category' | 'status' | 'rejectionReason' | 'components'
>

/**
 * Loads a template that the provider of the channel has approved, prepared for `fillTemplate`.
 * @throws NotFoundError, UnprocessableError `template_of_other_channel`, `template_not_approved`, `template_not_supported`
 */
export async function loadSendableTemplate(
  tx: Scope,
  channelId: string,
  choice: TemplateChoice,
): Promise<SendableTemplate> {
  const templates = await loadTemplates(tx, [{ channelId, choice }])
  return templates.getSendable(channelId, choice)
}

/** Templates that were chosen for channels. */
export type Templates = {
  /** The same as `loadSendableTemplate`, of the templates that were loaded. */
  getSendable(channelId: string, choice: TemplateChoice): SendableTemplate
}

/** Loads chosen templates, in one statement for each form of a choice. */
export async function loadTemplates(tx: Scope, chosen: ChannelTemplate[]): Promise<Templates> {
  const ids = chosen.flatMap(({ choice }) =>
    'templateId' in choice && isUuid(choice.templateId) ? choice.templateId : [],
  )
  const names = chosen.flatMap(({ channelId, choice }) => ('name' in choice ? { channelId, ...choice } : []))
  const rows = [...(await findByIds(tx, ids)), ...(await findByNames(tx, names))]
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byName = new Map(rows.map((row) => [nameKey(row), row]))
  return {
    getSendable(channelId, choice) {
      const row =
        'templateId' in choice
          ? byId.get(choice.templateId.toLowerCase())
          : byName.get(nameKey({ channelId, ...choice }))
      return toSendable(row, channelId)
    },
  }
}

type Named = { channelId: string; name: string; language: string }

function nameKey({ channelId, name, language }: Named): string {
  return JSON.stringify([channelId, name, language])
}

const COLUMNS = sqlFragment`t.id, t.channel_id, t.name, t.language, t.category, t.status, t.rejection_reason, t.components`

async function findByIds(tx: Scope, ids: string[]): Promise<Row[]> {
  if (ids.length === 0) return []
  return tx.sql<Row>('findTemplates')`
    select ${COLUMNS} from templates t where t.tenant_id = ${tx.tenantId} and t.id = any(${ids})`
}

async function findByNames(tx: Scope, named: Named[]): Promise<Row[]> {
  if (named.length === 0) return []
  const distinct = [...new Map(named.map((one) => [nameKey(one), one])).values()]
  return tx.sql<Row>('findTemplatesByName')`
    select ${COLUMNS} from templates t
    join unnest(${distinct.map(({ channelId }) => channelId)}::uuid[], ${distinct.map(({ name }) => name)}::text[],
      ${distinct.map(({ language }) => language)}::text[]) as x (channel_id, name, language)
      on t.channel_id = x.channel_id and t.name = x.name and t.language = x.language
    where t.tenant_id = ${tx.tenantId}`
}

function toSendable(row: Row | undefined, channelId: string): SendableTemplate {
  if (!row) throw new NotFoundError('Template')
  if (row.channelId !== channelId) {
    throw new UnprocessableError(
      'template_of_other_channel',
      'The template belongs to another channel. Choose a template of the channel of the conversation',
    )
  }
  if (row.status !== 'approved') {
    throw new UnprocessableError(
      'template_not_approved',
      `The template is ${row.status}, and only an approved one can be sent. Submit it with POST /api/templates/{templateId}/submit, or choose another template`,
      { status: row.status, rejectionReason: row.rejectionReason },
    )
  }
  const template = toSendableTemplate(row)
  if (template) return template
  throw notSupportedError()
}

export function notSupportedError(): UnprocessableError {
  return new UnprocessableError(
    'template_not_supported',
    'The template has components that cannot be sent, such as a carousel. Choose a template of a header, a body, a footer and buttons',
  )
}

/** The most parameters that an error names. */
export const PROBLEMS_MAX = 20

/**
 * Fills in a template. `params` has a value for each of `template.variables`, by its name: that of a named variable, `1`,
 * `2` ... of positional ones, and documented keys such as `header.link` and `button.0`.
 * @throws UnprocessableError `template_params_invalid`
 */
export function fillTemplate(template: SendableTemplate, params: Readonly<Record<string, string>>): FilledTemplate {
  const filled = fillComponents(template, params)
  if (!('problems' in filled)) return filled
  throw paramsError(filled.problems.map((problem) => ({ ...problem, path: `params.${problem.name}` })))
}

/** Builds the error `template_params_invalid`, which names at most `PROBLEMS_MAX` parameters. */
export function paramsError(problems: (ParameterProblem & { path: string })[]): UnprocessableError {
  const named = problems.slice(0, PROBLEMS_MAX)
  const list = named.map(({ name, message }) => `"${name.slice(0, 64)}" ${message}`).join(', ')
  return new UnprocessableError(
    'template_params_invalid',
    `The parameters do not fit the template: ${list}. The variables of the template are listed by GET /api/templates/{templateId}`,
    named.map(({ path, message }) => ({ path, message })),
  )
}

/**
 * Checks the stored file that the parameters put into the header of a template, and adds its name to them.
 * @throws NotFoundError, UnprocessableError `media_not_sendable`
 */
export async function assertHeaderFile(
  scope: Scope,
  template: SendableTemplate,
  params: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const file = findStoredHeader(template, params)
  return file ? nameHeaderFile(template, params, await assertSendable(scope, file)) : params
}

/** Finds the stored file that the parameters put into the header of a template. */
export function findStoredHeader(
  template: SendableTemplate,
  params: Readonly<Record<string, string>>,
): { kind: FileKind; mediaId: string } | undefined {
  const file = findHeaderFile(template, params)
  // What is no ID is reported as a wrong parameter when the template is filled in.
  return file && isUuid(file.mediaId) ? file : undefined
}
