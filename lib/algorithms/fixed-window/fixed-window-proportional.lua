-- Fixed window with proportional inheritance: the state also has the limit, and a rule with another limit scales the state.
--
-- KEYS  the rule's key: a string, `limit|state`, where state is that of fixed-window.lua
-- ARGV, Returns  see fixed-window.lua
--
-- @needs proportional, scale-window

return proportional(algorithms['fixed-window'], scale_window)
