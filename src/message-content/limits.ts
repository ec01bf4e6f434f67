/** Limits of what channels send: those of the Cloud API, in characters and entries. */
export const TEXT_MAX = 4096
/** Text of a message with a file, reply buttons or a link. */
export const CAPTION_MAX = 1024
/** Options are sent as reply buttons if they fit, otherwise as a list. */
export const BUTTONS_MAX = 3
export const BUTTON_TITLE_MAX = 20
export const LIST_MAX = 10
export const LIST_TITLE_MAX = 24
export const LIST_DESCRIPTION_MAX = 72
/** Label that opens a list, and that of a link. */
export const LABEL_MAX = 20
export const OPTION_ID_MAX = 200
export const URL_MAX = 2048
export const FILENAME_MAX = 240
export const PLACE_MAX = 1000
export const SHARED_CONTACTS_MAX = 20
export const EMOJI_MAX = 32
