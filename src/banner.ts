import { OPENAPI_PATH } from './http/paths.ts'

/** Builds the lines that are printed after the start. */
export function banner({ url, isEmbedded }: { url: string | undefined; isEmbedded: boolean }): string[] {
  if (url === undefined) return ['Parley runs background work only; this process serves no HTTP']
  const signIn = isEmbedded
    ? `Sign in: POST ${url}/api/auth/sign-in/email {"email":"demo@parley.example","password":"parley-demo"}`
    : `Sign up: POST ${url}/api/auth/sign-up/email {"name":"...","email":"...","password":"..."}`
  return [
    `Parley is listening on ${url}`,
    signIn,
    `Next: the example in README.md, or the API reference at ${url}${OPENAPI_PATH}`,
  ]
}
