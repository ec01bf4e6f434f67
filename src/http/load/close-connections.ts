import type { Middleware } from 'koa'

/** Makes clients send further requests elsewhere: while the process stops, each answer is the last of its connection. */
export function closeConnections(isDraining: () => boolean): Middleware {
  return async function closeConnection(ctx, next) {
    await next()
    if (isDraining() && !ctx.headerSent) ctx.set('Connection', 'close')
  }
}
