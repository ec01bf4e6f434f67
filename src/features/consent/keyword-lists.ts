export const KEYWORD_LANGUAGES = ['en', 'pt', 'es', 'fr', 'de', 'it'] as const
export type KeywordLanguage = (typeof KEYWORD_LANGUAGES)[number]

/**
 * Words by language; `any` lists those that are written in all of them. Words that customers use in other answers, such
 * as "cancel" or "end", are left out: a workspace may add them.
 */
export const KEYWORDS: Record<'opted_out' | 'opted_in', Record<KeywordLanguage | 'any', string[]>> = {
  opted_out: {
    any: ['stop', 'stop all', 'stopall', 'opt out', 'optout', 'unsubscribe'],
    en: ['stop promotions', 'stop messages'],
    pt: ['parar', 'pare', 'sair', 'descadastrar', 'descadastre-me', 'cancelar inscrição', 'parar promoções'],
    es: ['parar', 'baja', 'dar de baja', 'darme de baja', 'cancelar suscripción', 'desuscribir', 'desuscribirme'],
    fr: ['arrêt', 'arrêter', 'arrêtez', 'désabonner', 'me désabonner', 'désinscrire', 'me désinscrire'],
    de: ['stopp', 'abmelden', 'abbestellen', 'austragen'],
    it: ['ferma', 'fermati', 'disiscrivi', 'disiscrivimi', 'cancellami', 'annulla iscrizione'],
  },
  opted_in: {
    any: ['start', 'unstop', 'opt in', 'optin', 'subscribe'],
    en: ['start promotions', 'start messages'],
    pt: ['inscrever', 'inscreva-me', 'reativar', 'quero receber'],
    es: ['alta', 'darme de alta', 'suscribir', 'suscribirme', 'quiero recibir'],
    fr: ["s'abonner", "m'abonner", 'abonner', 'réabonner', 'reprendre'],
    de: ['anmelden', 'abonnieren', 'wieder anmelden'],
    it: ['iscrivi', 'iscrivimi', 'riprendi'],
  },
}

export const CONFIRMATIONS: Record<'opted_out' | 'opted_in', Record<KeywordLanguage, string>> = {
  opted_out: {
    en: 'You will not receive any more promotional messages from us.',
    pt: 'Você não receberá mais mensagens promocionais nossas.',
    es: 'Ya no recibirás más mensajes promocionales nuestros.',
    fr: 'Vous ne recevrez plus de messages promotionnels de notre part.',
    de: 'Sie erhalten keine Werbenachrichten mehr von uns.',
    it: 'Non riceverai più messaggi promozionali da parte nostra.',
  },
  opted_in: {
    en: 'You will receive promotional messages from us. Write STOP at any time to end them.',
    pt: 'Você receberá mensagens promocionais nossas. Escreva STOP a qualquer momento para encerrar.',
    es: 'Recibirás mensajes promocionales nuestros. Escribe STOP en cualquier momento para terminar.',
    fr: 'Vous recevrez des messages promotionnels de notre part. Écrivez STOP à tout moment pour y mettre fin.',
    de: 'Sie erhalten Werbenachrichten von uns. Schreiben Sie jederzeit STOP, um sie zu beenden.',
    it: 'Riceverai messaggi promozionali da parte nostra. Scrivi STOP in qualsiasi momento per interromperli.',
  },
}
