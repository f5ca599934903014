//! Development only: scripted sessions, throwaway projects and assertions.
