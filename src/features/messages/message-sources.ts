import { findFile } from '../../message-content/content.ts'
import type { FileKind, StoredFile } from '../../message-content/stored-file.ts'
import type { Message as MessageRow } from '../../models/messaging.ts'
import { AppError, NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadMediaResources } from '../media/load-step-media.ts'
import { toSendableFile } from '../media/queries.ts'
import { findStoredHeader, loadTemplates, type Templates } from '../templates/sendable-template.ts'
import type { MessageInput, TemplateChoice } from './schema.ts'

type AnsweredMessage = Pick<MessageRow, 'id' | 'conversationId' | 'direction' | 'status'>
type StoredFileRef = { kind: FileKind; mediaId: string }

/** Everything that messages refer to, loaded for all of them together. */
export type MessageSources = Templates & {
  /** @throws NotFoundError, UnprocessableError `media_not_sendable` */
  getFile(file: StoredFileRef): StoredFile
  /** @throws NotFoundError */
  getAnswered(messageId: string): AnsweredMessage
}

type Draft = { channelId: string; input: MessageInput }

/** Loads templates, stored files and answered messages, each in a fixed number of statements. */
export async function loadSources(tx: Scope, drafts: Draft[]): Promise<MessageSources> {
  const chosen = drafts.flatMap(({ channelId, input: { template } }) => (template ? [{ channelId, template }] : []))
  const templates = await loadTemplates(
    tx,
    chosen.map(({ channelId, template }) => ({ channelId, choice: toChoice(template) })),
  )
  const fileIds = [
    ...drafts.flatMap(({ input }) => findFile(withoutTemplate(input))?.mediaId ?? []),
    ...chosen.flatMap(({ channelId, template }) => findHeaderId(templates, channelId, template) ?? []),
  ]
  const files = new Map((await loadMediaResources(tx, fileIds)).map((file) => [file.mediaId, file]))
  const answered = await loadAnswered(
    tx,
    drafts.flatMap(({ input }) => findAnsweredId(input) ?? []),
  )
  return {
    ...templates,
    getFile: ({ kind, mediaId }) => toSendableFile(files.get(mediaId.toLowerCase()), kind),
    getAnswered(messageId) {
      const message = answered.get(messageId.toLowerCase())
      if (!message) throw new NotFoundError('Message')
      return message
    },
  }
}

/** Returns the ID of the message that is answered, or reacted to. */
export function findAnsweredId({ replyToId, reaction }: MessageInput): string | undefined {
  return replyToId ?? reaction?.messageId
}

export function toChoice({ templateId, name = '', language = '' }: TemplateChoice) {
  return templateId === undefined ? { name, language } : { templateId }
}

function withoutTemplate({ template: _template, ...content }: MessageInput) {
  return content
}

function findHeaderId(templates: Templates, channelId: string, template: TemplateChoice): string | undefined {
  try {
    return findStoredHeader(templates.getSendable(channelId, toChoice(template)), template.params)?.mediaId
  } catch (error) {
    // The message fails by it when it is composed.
    if (error instanceof AppError) return undefined
    throw error
  }
}

async function loadAnswered(tx: Scope, ids: string[]): Promise<Map<string, AnsweredMessage>> {
  const known = ids.filter(isUuid)
  if (known.length === 0) return new Map()
  const rows = await tx.sql<AnsweredMessage>('loadAnswered')`
    select id, conversation_id, direction, status from messages where tenant_id = ${tx.tenantId} and id = any(${known})`
  return new Map(rows.map((row) => [row.id, row]))
}
