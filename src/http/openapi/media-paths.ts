import type { Document, Response, Schema } from './document.ts'
import { header, ID, ok, pathId, query, text } from './other-paths.ts'
import { describeAccess, WORKSPACE } from './parameters.ts'
import { errorReferences, REQUEST_ID_HEADERS } from './responses.ts'

type Paths = Document['paths']

const BINARY: Schema = { type: 'string', format: 'binary' }

/** Adds the file as the body of an import, which is its procedure with an uploaded file. */
function importPaths(paths: Paths): Paths {
  const path = '/api/contacts/import'
  const { post, ...others } = paths[path] ?? {}
  if (!post) throw new Error(`The document has no POST ${path}`)
  const options: [name: string, description: string, example: string][] = [
    ['mode', 'For a file as the body: `create`, `update` or `upsert`, the default', 'upsert'],
    ['matchBy', 'For a file as the body: `phone`, the default, `externalId` or `email`', 'phone'],
    ['startWorkflows', 'For a file as the body: `true` if workflows react to the changes', 'false'],
    ['dryRun', 'For a file as the body: `true` to check it only', 'true'],
    ['again', 'For a file as the body: `true` to import it although it has a job already', 'false'],
    ['mapping', 'For a file as the body: what columns are, as JSON', '{"Cidade":"fields.city"}'],
  ]
  const csv = { schema: { type: 'string' }, example: 'name,phone\r\nAna Souza,+5511900000001\r\n' }
  return {
    [path]: {
      ...others,
      post: {
        ...post,
        parameters: [
          ...(post.parameters ?? []),
          ...options.map(([name, description, example]) => ({ ...query(name, description, example), required: false })),
        ],
        requestBody: { required: true, content: { ...post.requestBody?.content, 'text/csv': csv } },
        responses: { ...post.responses, ...errorReferences(['408', '409', '413', '415', '503']) },
      },
    },
  }
}

/** Documents the transfer of files, which are bodies of their own and no JSON, beside the operations of the same paths. */
export function mediaPaths(paths: Paths): Paths {
  const media = {
    id: ID,
    mimeType: 'image/png',
    size: 68,
    filename: 'cat.png',
    sha256: '0'.repeat(64),
    url: `/media/${ID}/${ID}?expires=1772445900000&signature=x`,
    createdAt: '2026-03-02T10:00:00.000Z',
  }
  return {
    ...importPaths(paths),
    '/api/media': {
      ...paths['/api/media'],
      post: {
        operationId: 'media.upload',
        summary: 'Upload a media file',
        description:
          'The body is the file itself, of at most 100 MB. Its type is detected from its content: images, audio, video, PDF, Office documents and plain text may be stored. An equal file of the workspace is stored once. Responds with 409 `media_quota_exceeded` if the file does not fit the quota of the workspace. A workspace and a user may upload four files at once, a client network a quarter of what is free.',
        tags: ['media'],
        ...describeAccess('media:write'),
        parameters: [{ ...query('filename', 'Name of the file', 'cat.png'), required: false }, WORKSPACE],
        requestBody: {
          required: true,
          content: { 'application/octet-stream': { schema: BINARY, example: '<bytes>' } },
        },
        responses: {
          200: ok('An equal file was stored before', media),
          201: ok('The file is stored', media),
          ...errorReferences(['400', '401', '403', '408', '409', '413', '429', '500', '503']),
        },
      },
    },
    '/media/{workspaceId}/{mediaId}': {
      get: {
        operationId: 'media.download',
        summary: 'Download a media file',
        description:
          'Returns the content of a file, or one part of it. The signature in the address decides instead of a session.',
        tags: ['media'],
        security: [],
        parameters: [
          pathId('workspaceId', 'The workspace'),
          pathId('mediaId', 'The file'),
          query('expires', 'End of the address in milliseconds of Unix time', '1772445900000'),
          query('signature', 'Signature of the address', 'x'),
          header('Range', 'The part to return', 'bytes=0-1023'),
        ],
        responses: {
          200: file('The file'),
          206: file('The part of the file'),
          416: text('The part is outside of the file', 'The range is outside of the file'),
          ...errorReferences(['403', '404', '500', '503']),
        },
      },
    },
  }
}

function file(description: string): Response {
  return {
    description,
    headers: REQUEST_ID_HEADERS,
    content: { 'application/octet-stream': { schema: BINARY, example: '<bytes>' } },
  }
}
