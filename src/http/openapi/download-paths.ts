import type { ApiScope } from '../../trpc/api-scopes.ts'
import type { Document, Parameter } from './document.ts'
import { ID, pathId } from './other-paths.ts'
import { describeAccess, WORKSPACE } from './parameters.ts'
import { errorReferences, successHeaders } from './responses.ts'

type Paths = Document['paths']

/** Documents answers of many lines, also that of a list which has another form as well. */
export function downloadPaths(paths: Paths): Paths {
  const result = JSON.stringify({ line: 2, status: 'created', id: ID, sourceId: null, error: null })
  return {
    '/api/audit-events': addLines(paths['/api/audit-events']),
    '/api/broadcasts/{broadcastId}/recipients.csv': describeDownload('broadcasts:read', {
      operationId: 'broadcasts.exportRecipients',
      summary: 'Export the recipients of a broadcast',
      description:
        'Returns all recipients with their delivery status as CSV, in the order of their IDs. Cells that a spreadsheet would execute as a formula begin with an apostrophe.',
      parameters: [
        pathId('broadcastId', 'The broadcast'),
        filter('status', 'Only recipients with this status', 'failed'),
      ],
      examples: { 'text/csv': 'recipientId,contactId,name,address,status\r\n' },
    }),
    '/api/contacts/export': describeDownload('contacts:read', {
      operationId: 'contacts.export',
      summary: 'Export contacts',
      description:
        'Returns the contacts that the filters find, in the order of their IDs: as CSV, or as NDJSON of the items of `GET /api/contacts` with `Accept: application/x-ndjson`. `POST /api/contacts/import` reads the CSV. Cells that a spreadsheet would execute as a formula begin with an apostrophe.',
      parameters: [
        filter('q', 'As of `GET /api/contacts`', 'Ana'),
        filter('phone', 'Only the contact with this phone number', '+14155550100'),
        filter('tag', 'Only contacts with the tag of this name', 'vip'),
        {
          ...filter('groupId', 'Only contacts of this group', ID),
          schema: { type: 'string', format: 'uuid' },
        },
      ],
      examples: {
        'text/csv': `id,name,phone\r\n${ID},Ana Souza,+5511900000001\r\n`,
        'application/x-ndjson': `${JSON.stringify({ id: ID, name: 'Ana Souza', phone: '+5511900000001' })}\n`,
      },
    }),
    '/api/jobs/{jobId}/results': describeDownload('jobs:read', {
      operationId: 'jobs.exportResults',
      summary: 'Export the results of a job',
      description:
        'Returns the stored result of each line as NDJSON, in the order of the lines: its number in the file or list, its status, the ID of what was created or changed, `sourceId` with the run that the filter of a job on runs found, which a replay repeats, and the error of a line that failed.',
      parameters: [pathId('jobId', 'The job')],
      examples: { 'application/x-ndjson': `${result}\n` },
    }),
    '/api/jobs/{jobId}/rejects.csv': describeDownload('jobs:read', {
      operationId: 'jobs.exportRejects',
      summary: 'Export the failed lines of a job',
      description: 'Returns the number of each line that failed, with the code and the reason, as CSV.',
      parameters: [pathId('jobId', 'The job')],
      examples: { 'text/csv': 'line,code,reason\r\n17,validation_failed,phone is required\r\n' },
    }),
  }
}

function addLines(methods: Paths[string] = {}): Paths[string] {
  const { get } = methods
  const answer = get?.responses['200']
  if (!get || !answer || '$ref' in answer) throw new Error('The list has no answer')
  const lines = { schema: { type: 'string' }, example: `{"id":"${ID}","action":"contacts.update"}\n` }
  const content = { ...answer.content, 'application/x-ndjson': lines }
  return { ...methods, get: { ...get, responses: { ...get.responses, 200: { ...answer, content } } } }
}

type Description = {
  operationId: string
  summary: string
  description: string
  parameters: Parameter[]
  /** By the media types of the answer. */
  examples: Partial<Record<'text/csv' | 'application/x-ndjson', string>>
}

function describeDownload(scope: ApiScope, { examples, parameters, ...operation }: Description): Paths[string] {
  return {
    get: {
      ...operation,
      tags: [scope.split(':')[0] ?? ''],
      ...describeAccess(scope),
      parameters: [...parameters, WORKSPACE],
      responses: {
        200: {
          description: 'The lines, streamed',
          headers: successHeaders({}),
          content: Object.fromEntries(
            Object.entries(examples).map(([type, example]) => [type, { schema: { type: 'string' }, example }]),
          ),
        },
        ...errorReferences(['400', '401', '403', '404', '429', '500', '503']),
      },
    },
  }
}

function filter(name: string, description: string, example: string): Parameter {
  return { in: 'query', name, description, schema: { type: 'string' }, example }
}
