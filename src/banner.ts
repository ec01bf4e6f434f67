import type { DemoAccount } from './demo-account.ts'
import { AUTH_PREFIX, OPENAPI_PATH } from './http/paths.ts'

type Options = {
  url: string | undefined
  demo: DemoAccount | undefined
  /** True if the lines are logged, where no password belongs, and not shown at a terminal. */
  isLog: boolean
}

/**
 * Builds the lines that are printed after the start. They name the server `localhost`, as the servers of web applications
 * in development do: for browsers 127.0.0.1 is another site, to which a page there sends no session cookie.
 */
export function banner(options: Options): string[] {
  const { demo, isLog } = options
  if (options.url === undefined) return ['Parley runs background work only; this process serves no HTTP']
  const url = options.url.replace('//127.0.0.1:', '//localhost:')
  const signIn = demo && JSON.stringify({ email: demo.email, password: demo.password })
  const signUpLine = `Sign up: POST ${url}${AUTH_PREFIX}/sign-up/email {"name":"...","email":"...","password":"..."}`
  const signInLine = isLog
    ? `Sign in: ${url} shows the demo account`
    : `Sign in: POST ${url}${AUTH_PREFIX}/sign-in/email ${signIn}`
  return [
    `Parley is listening on ${url}`,
    demo ? signInLine : signUpLine,
    demo
      ? `Next: the example in README.md, or the API reference at ${url}${OPENAPI_PATH}`
      : `Next: the API reference at ${url}${OPENAPI_PATH}. "npm run seed" adds the demo workspace of the example in README.md`,
  ]
}
