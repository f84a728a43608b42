import streamlit as st
from torch.cuda import is_available

use_cuda = st.sidebar.checkbox("Use CUDA", value=is_available())
