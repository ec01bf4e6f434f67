import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { getMedia, listMedia } from './queries.ts'
import { deleteMedia } from './changes.ts'
import { ListMedia, Media, MediaPage, MediaRef } from './schema.ts'

const LIST = {
  description:
    'Lists the stored files of the workspace, both uploaded ones and those of customers, with their size in all.',
}

const GET = {
  description: 'Returns the description of a stored file with a signed address of its content, valid for 5 minutes.',
}

const DELETE = { status: 204, description: 'Deletes the file. Messages that have it stay, without it.' } as const

export const mediaRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/media', 'List media files', LIST))
    .input(omittable(ListMedia))
    .output(MediaPage)
    .query(({ ctx, input }) => listMedia(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/media/{mediaId}', 'Get a media file', GET))
    .input(MediaRef)
    .output(Media)
    .query(({ ctx, input }) => getMedia(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/media/{mediaId}', 'Delete a media file', DELETE))
    .input(MediaRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteMedia(ctx.scope, input)),
})
