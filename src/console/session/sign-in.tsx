import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Entry, Field, FormProblem, useSubmit } from './entry-form.tsx'
import { useSession } from './session.tsx'

const LOST_COOKIE =
  'Your browser dropped the session cookie. It is marked Secure: open the console on https:// or on localhost.'

/** The account of the demo workspace, which the server puts into the page for browsers on its own machine. */
function readDemo(): { email: string; password: string } | undefined {
  const [email, password] = document.querySelector('meta[name=parley-demo]')?.getAttribute('content')?.split(' ') ?? []
  return email !== undefined && password !== undefined ? { email, password } : undefined
}

/** After a sign-in the server must know the session, which it does not if the browser dropped the cookie. */
function useEnter(): () => Promise<void> {
  const { refresh } = useSession()
  return async () => {
    if (!(await refresh())) throw new Error(LOST_COOKIE)
  }
}

export function SignIn() {
  const { client } = useSession()
  const enter = useEnter()
  const [needsCode, setNeedsCode] = useState(false)
  const demo = readDemo()
  const { submit, run, isBusy, problem } = useSubmit(async ({ email = '', password = '', code }) => {
    if (code !== undefined) await client.auth.verifyTotp.mutate({ code })
    else {
      const answer = await client.auth.signIn.mutate({ email, password })
      if ('twoFactorRedirect' in answer) return setNeedsCode(true)
    }
    await enter()
  })
  return (
    <Entry title="Sign in">
      {demo && (
        <>
          <Button kind="primary" disabled={isBusy} onClick={() => void run(demo)}>
            Open the demo workspace
          </Button>
          <p className="muted">A shop with customers and workflows to try. It needs no account.</p>
          <p className="divider muted">or use your account</p>
        </>
      )}
      <form onSubmit={submit}>
        {needsCode ? (
          <Field label="Code of your authenticator app" name="code" inputMode="numeric" autoComplete="one-time-code" />
        ) : (
          <>
            <Field label="Email" name="email" type="email" autoComplete="username" />
            <Field label="Password" name="password" type="password" autoComplete="current-password" />
          </>
        )}
        <FormProblem problem={problem} />
        <Button type="submit" kind={demo ? undefined : 'primary'} disabled={isBusy}>
          Sign in
        </Button>
      </form>
      <p className="row">
        <Link href="/sign-up">Create an account</Link>
        <Link href="/forgot-password" className="spread">
          Forgot your password?
        </Link>
      </p>
    </Entry>
  )
}

export function SignUp() {
  const { client } = useSession()
  const enter = useEnter()
  const [, go] = useLocation()
  const { submit, isBusy, problem } = useSubmit(async ({ name = '', email = '', password = '' }) => {
    await client.auth.signUp.mutate({ name, email, password })
    await enter()
    go('/playground')
  })
  return (
    <Entry title="Create an account">
      <form onSubmit={submit}>
        <Field label="Name" name="name" autoComplete="name" />
        <Field label="Email" name="email" type="email" autoComplete="username" />
        <Field label="Password" name="password" type="password" autoComplete="new-password" minLength={8} />
        <FormProblem problem={problem} />
        <Button type="submit" kind="primary" disabled={isBusy}>
          Create an account with a workspace
        </Button>
      </form>
      <p>
        <Link href="/playground">Sign in instead</Link>
      </p>
    </Entry>
  )
}
