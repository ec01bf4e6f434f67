/** The three lines a person reads after starting Parley. */
export function banner({ url, isEmbedded }: { url: string | undefined; isEmbedded: boolean }): string[] {
  if (url === undefined) return ['Parley works in the background; this process answers no HTTP']
  const signIn = isEmbedded
    ? `Sign in: POST ${url}/api/auth/sign-in/email {"email":"demo@parley.example","password":"parley-demo"}`
    : `Sign up: POST ${url}/api/auth/sign-up/email {"name":"...","email":"...","password":"..."}`
  return [`Parley listens on ${url}`, signIn, `Try: the session in README.md, or read ${url}/openapi.json`]
}
